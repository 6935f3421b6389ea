"""From counted documents to the matrix that a head learns from."""
