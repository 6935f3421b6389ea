"""The command line: one file per command, which parses, calls one function and prints.

Nothing heavy is imported before a command runs, so that ``tfcr --help`` is quick.
"""

import logging
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer

from tfcr.cli import datasets, demo, embeddings, evaluate, experiment, explain, predict, train, warmup, words
from tfcr.cli.help import Command, wrong_call
from tfcr.cli.output import note, say_stopped
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
    app.command(cls=Command)(command)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Classify texts with class-weighted word embeddings. Try it: tfcr demo."""


app.add_typer(embeddings.app, name="embeddings")
app.add_typer(datasets.app, name="datasets")
app.add_typer(experiment.app, name="experiment")


INTERRUPTED = 130
"""The status that typer returns after Ctrl-C."""


def main() -> None:
    """Run the command line: exit status 0 when done, 2 if the input or the call is wrong, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    logging.getLogger("tfcr").handlers = [_Notes()]
    try:
        status = app(standalone_mode=False)
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
        status = _refuse(f"cannot read or write{where}: {error.strerror or error}")
    except MemoryError:
        status = _refuse("not enough memory; try a smaller file, fewer dimensions, or --blocks own")
    if status == INTERRUPTED:
        say_stopped()
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(status)  # files are closed by now; do not wait for threads in compiled code
    sys.exit(status if isinstance(status, int) else 0)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def _show_help(error: Any) -> int:
    print(error.format_message(), file=sys.stderr)
    return 2


def _refuse(error: object) -> int:
    print(f"tfcr: {' '.join(str(error).split())}", file=sys.stderr)
    return 2


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any) -> None:
    note(str(message))
