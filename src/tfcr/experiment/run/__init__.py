"""Running cells: corpora, vectors, folds, processes."""
