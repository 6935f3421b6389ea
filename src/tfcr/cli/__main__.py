"""``python -m tfcr.cli``, the same as ``tfcr``."""

from tfcr.cli import main

main()
