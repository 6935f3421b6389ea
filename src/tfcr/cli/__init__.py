"""The command line: one file for each command, each parsing, calling one function, and printing.

Nothing heavy is imported before a command runs, so that ``tfcr --help`` answers at once.
"""

import logging
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from tfcr.cli import datasets, demo, embeddings, evaluate, experiment, explain, predict, train, warmup, words
from tfcr.cli.output import note
from tfcr.errors import TfcrError


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tfcr {version('tfcr')}")
        raise typer.Exit


app = typer.Typer(
    name="tfcr",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (
    demo.demo,
    train.train,
    predict.predict,
    evaluate.evaluate,
    explain.explain,
    words.words,
    warmup.warmup,
):
    app.command()(command)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Classify texts by word embeddings weighted by class. Try it: tfcr demo."""


app.add_typer(embeddings.app, name="embeddings")
app.add_typer(datasets.app, name="datasets")
app.add_typer(experiment.app, name="experiment")


INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def main() -> None:
    """Run the command line: exit status 0 when done, 2 when the input or the call is wrong, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    logging.getLogger("tfcr").handlers = [_Notes()]
    try:
        status = app(standalone_mode=False)
    except (TfcrError, typer.TyperException) as error:
        status = _show_help(error) if type(error).__name__ == "NoArgsIsHelpError" else _refuse(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or "Broken pipe" in str(error):  # polars gives it no number
            os._exit(1)  # the reader of our output went away: nothing left to say
        where = f" {error.filename}" if error.filename else ""
        status = _refuse(f"cannot read or write{where}: {error.strerror or error}")
    except MemoryError:
        status = _refuse("not enough memory; try a smaller file, fewer dimensions, or --blocks own")
    if status == INTERRUPTED:
        sys.stdout.flush()
        os._exit(status)  # at once: files are closed by now, and threads in compiled code need not be waited for
    sys.exit(status if isinstance(status, int) else 0)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def _show_help(error: Any) -> int:
    print(error.format_message(), file=sys.stderr)
    return 2


def _refuse(error: object) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    print(f"tfcr: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
    note(str(message))
