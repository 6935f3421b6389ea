"""The page Documents: those of a file, by class, with what is right and wrong (``tfcr serve MODEL --data FILE``).

store       texts and labels in a folder, mapped into memory, so that all workers share them
scoring     what a model predicts for them: made once for each model, by whichever worker comes first
results     both compared: right, wrong, unsure; what is confused with what; a page of a list
answers     what the page is told, as plain data
routes      the page, and the paths that its script asks
"""
