"""The hot loops, compiled by numba. They know arrays only, and import nothing of ours.

Each is called by the module whose plain path it speeds up, and gives the same result; property tests hold it to that.
Small jobs take the plain path, since loading compiled code takes longer than they do.
"""
