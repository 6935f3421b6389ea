"""``python -m tfcr`` is the command line."""

from tfcr.cli import main

main()
