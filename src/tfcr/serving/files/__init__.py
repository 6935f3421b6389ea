"""Classify a file: a person uploads a table, has its rows classified, corrects labels, and downloads the result.

An upload takes this way, and each step leaves a file in the folder of the upload, so that any worker can answer:

    folder      the upload itself, streamed to disk; its state; deleting, and forgetting after some days
    looking     columns, first rows, a guess of the column with the text
    jobs        reading and classifying in the background, in parts, which are resumed if the worker dies
    rows        the rows of a page: filtered, sorted, with corrections
    download    the table as it was read, with the columns that were added
    routes      what the script of the page asks

    WORK/                                  readable by its owner alone
      q3ZJtq0TzYyRBzVvB7lCgw/              one upload; whoever knows its name may use it
        upload.json  data.csv              what was uploaded
        look.json                          what was found in it
        state.json   lock                  how far the work on it is; locked by the worker that does it
        parts-1f0e3dad/00000.arrow         predictions of the first rows
        corrections.jsonl                  a journal of what the person decided
        result-0a1b2c3d.csv                a download
"""
