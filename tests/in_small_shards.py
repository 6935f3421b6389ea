"""``tfcr`` with such small shards and samples that small files are trained on as large ones are; for ``kill.py``."""

from typing import Any
from unittest import mock

from tfcr.cli import main

SMALL: dict[str, Any] = {
    "tfcr.evaluation.streams.fits_into_memory": lambda stream, model: False,
    "tfcr.counting.SHARD_DOCUMENTS": 16,
    "tfcr.heads.large.SAMPLE_DOCUMENTS": 60,
    "tfcr.heads.large.LEAST_SAMPLE": 60,
    "tfcr.heads.large.HELD_OUT": 20,
    "tfcr.heads.sharded_descent.MAX_GAPS": 1,
}

if __name__ == "__main__":
    for place, value in SMALL.items():
        mock.patch(place, value).start()
    main()
