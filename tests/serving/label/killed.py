"""A labelling server that is quick to start again: the process is forked once all is imported and read.

Each line of standard input starts one; its port and process number are printed. The parent waits until it has ended.
"""

import os
import sys
from pathlib import Path

from tests.serving.label.conftest import CLASSES
from tfcr.labelling import Pool, Session
from tfcr.labelling.answers import opened_answers
from tfcr.serving import Settings, serve
from tfcr.serving.label import make_label_app


def label(pool: Pool, output: Path) -> None:
    with opened_answers(output, pool) as file:
        settings = Settings({}, port=0)
        session = Session(pool, CLASSES, file=file)
        session.choose()
        app = make_label_app(session, settings, "data", str(output))
        serve(settings, lambda found: print(found.port, os.getpid(), flush=True), lambda _: app)


def main(texts: Path, output: Path) -> None:
    pool = Pool.of(texts.read_text("utf-8").splitlines())
    assert len(pool.vectors) == len(pool)
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            label(pool, output)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
