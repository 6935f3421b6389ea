"""Save over a model, be killed at a random moment, load: two hundred times.

python benchmarks/kill_saves.py [KILLS]
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.trained.test_format import kill_saves


def main(kills: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kill_saves(Path(folder) / "model", kills)
    print(f"killed {kills} times, loaded {kills} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
