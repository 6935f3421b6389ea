"""The command line: one file per command, which parses, calls one function and prints.

Nothing heavy is imported before a command runs, so that ``tfcr --help`` is quick.
"""

import errno
import io
import logging
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from tfcr.cli import (
    counts,
    datasets,
    demo,
    embeddings,
    evaluate,
    experiment,
    explain,
    export,
    label,
    predict,
    report,
    serve,
    train,
    update,
    warmup,
    words,
)
from tfcr.cli.help import Command, Group, wrong_call
from tfcr.cli.output import note, printable, say_stopped, warn
from tfcr.errors import TfcrError


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tfcr {version('tfcr')}")
        raise typer.Exit


app = typer.Typer(
    name="tfcr",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (
    demo.demo,
    train.train,
    update.update,
    predict.predict,
    evaluate.evaluate,
    explain.explain,
    words.words,
    report.report,
    export.export,
    serve.serve,
    label.label,
    warmup.warmup,
):
    app.command(cls=Command)(command)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Classify texts with class-weighted word embeddings. Try it: tfcr demo."""


app.add_typer(counts.app, name="counts")
app.add_typer(embeddings.app, name="embeddings")
app.add_typer(datasets.app, name="datasets")
app.add_typer(experiment.app, name="experiment")


INTERRUPTED = 130
"""The status that typer returns after Ctrl-C."""


def main() -> None:
    """Run the command line: exit status 0 when done, 2 if the input or the call is wrong, 130 after Ctrl-C."""
    _open_streams()
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    logging.getLogger("tfcr").handlers = [_Notes()]
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()  # here, where a failure gets a line, and not while Python ends
    except KeyboardInterrupt:  # a second Ctrl-C, while typer handles the first
        status = INTERRUPTED
    except TfcrError as error:
        status = _refuse(error)
    except typer.TyperException as error:
        status = _show_help(error) if type(error).__name__ == "NoArgsIsHelpError" else _refuse(wrong_call(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError) or "Broken pipe" in str(error):  # polars sets no errno
            os._exit(1)  # the reader of our output has gone
        where = f" {error.filename}" if error.filename else ""
        is_closed = error.errno == errno.EBADF and not where
        what = "standard output is closed; send it to a file: > FILE" if is_closed else None
        status = _refuse(what or f"cannot read or write{where}: {error.strerror or error}")
        _drop_output()
    except MemoryError:
        status = _refuse("not enough memory; try a smaller file, fewer dimensions, or --blocks own")
    if status == INTERRUPTED:
        say_stopped()
        _drop_output()
        os._exit(status)  # files are closed by now; do not wait for threads in compiled code
    sys.exit(status if isinstance(status, int) else 0)


def _open_streams() -> None:
    """Put something in place of standard streams that the caller closed, and print any text.

    A closed standard output refuses whatever is written, so that no result is lost without a word; its number must not
    go to the next file that is opened. Half of a surrogate pair, as in the name of a file that is not UTF-8, is printed
    as an escape. Unbuffered streams (PYTHONUNBUFFERED) get a buffer that is flushed at every line: without one, Python
    drops the rest of what a full disk takes only in part.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the whole run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(sys.stdout.buffer, io.RawIOBase):
        encoding, raw = sys.stdout.encoding, sys.stdout.detach()
        buffered = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(buffered, encoding, "backslashreplace", line_buffering=True)


def _drop_output() -> None:
    """Forget what could not be written, so that Python does not try again, and complain, while it ends."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def _show_help(error: Any) -> int:
    print(error.format_message(), file=sys.stderr)
    return 2


def _refuse(error: object) -> int:
    print(f"tfcr: {printable(' '.join(str(error).split()))}", file=sys.stderr)
    return 2


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
    warn(str(message))
