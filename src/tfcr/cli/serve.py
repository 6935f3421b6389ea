"""``tfcr serve``."""

import errno
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfcr.cli.help import input_option
from tfcr.cli.options import Reading, refuse_given, with_options
from tfcr.cli.output import if_stopped, note

if TYPE_CHECKING:
    from pathlib import Path

    from tfcr.serving import Settings

address_option = partial(typer.Option, rich_help_panel="Address")
limit_option = partial(typer.Option, rich_help_panel="Limits")
file_option = partial(typer.Option, rich_help_panel="Uploaded files")


@with_options
def serve(
    context: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Folders of trained models; requests know each by its folder's name.",
            show_default=False,
        ),
    ],
    reading: Reading,
    data: Annotated[
        list[str] | None,
        input_option(
            "--data",
            metavar="DATA",
            help="Labelled texts to list by class, with what is right and wrong, on a page of their own: files, or a "
            "dataset's name; repeat for several files.",
        ),
    ] = None,
    host: Annotated[
        str, address_option("--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all of this machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int, address_option("--port", metavar="N", help="Port to listen on; 0 for any that is free.", min=0, max=65535)
    ] = 8765,
    token: Annotated[
        str | None,
        address_option(
            "--token",
            metavar="TOKEN",
            envvar="TFCR_TOKEN",
            help="What clients must know, of 16 characters or more; 'generated' makes one. Other users of this machine "
            "see the options of a command: rather set TFCR_TOKEN.",
            show_default="none on this machine; generated for other addresses",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        address_option(
            "--allow-host",
            metavar="NAME",
            help="Name that clients call this server by, such as that of a proxy; repeat.",
        ),
    ] = None,
    workers: Annotated[
        int,
        address_option(
            "--workers", metavar="N", help="Processes; they share the memory of the models.", min=1, max=256
        ),
    ] = 1,
    max_body: Annotated[str, limit_option("--max-body", metavar="SIZE", help="Largest body of a request.")] = "10MB",
    max_batch: Annotated[int, limit_option("--max-batch", metavar="N", help="Most texts of a request.", min=1)] = 1_000,
    max_text: Annotated[
        int, limit_option("--max-text", metavar="N", help="Most characters of a text.", min=1)
    ] = 1_000_000,
    queue: Annotated[
        int,
        limit_option(
            "--queue",
            metavar="N",
            help="Requests of each worker that are taken at once; more are answered with 503.",
            min=1,
        ),
    ] = 100,
    max_upload: Annotated[
        str, limit_option("--max-upload", metavar="SIZE", help="Largest file that is uploaded to be classified.")
    ] = "100MB",
    timeout: Annotated[
        float,
        limit_option(
            "--timeout",
            metavar="SECONDS",
            help="Time that a client may take to send a request, and the answer may take.",
        ),
    ] = 30.0,
    work: Annotated[
        str | None,
        file_option(
            "--work",
            metavar="FOLDER",
            help="Folder for files that are uploaded in the browser, and for corrections of their labels.",
            show_default="tfcr/serve in the user's state folder, or in TFCR_STATE",
        ),
    ] = None,
    keep: Annotated[
        int,
        file_option(
            "--keep",
            metavar="DAYS",
            help="Delete uploaded files so many days after their last change.",
            min=1,
            max=36500,
        ),
    ] = 30,
) -> None:
    """Answer requests over HTTP, and show pages in a browser.

    Programs classify, explain and list words; people upload files to classify, and correct labels.
    A model that is replaced on disk is taken up without a restart. SIGTERM and Ctrl-C answer what was accepted first.

    \b
    tfcr serve model
    tfcr serve model --data tickets.csv --label queue
    tfcr serve model --host 0.0.0.0 --workers 4
    """
    from dataclasses import replace

    from tfcr.serving import Limits, Settings, name_folders
    from tfcr.serving import serve as run
    from tfcr.serving.settings import token_for
    from tfcr.system.files import scratch_folder
    from tfcr.system.hardware import size_in_bytes

    if not data:
        refuse_given(context, tuple(Reading.__dataclass_fields__), "without --data, but it is for these texts")
    limits = Limits(
        size_in_bytes(max_body, "--max-body "),
        max_batch,
        max_text,
        queue,
        timeout,
        size_in_bytes(max_upload, "--max-upload "),
    )
    settings = Settings(
        folders=name_folders(models),
        host=host,
        port=port,
        token=token_for(token, host),
        hosts=tuple(allow_host or ()),
        limits=limits,
        workers=workers,
        work=_work_folder(work),
        keep_days=keep,
    )
    if_stopped("requests that were accepted have been answered")
    with ExitStack() as stack:
        if data:
            folder = stack.enter_context(scratch_folder())
            _write_documents(folder, next(iter(settings.folders.values())), reading, data)
            settings = replace(settings, documents=folder)
        run(settings, _tell)


def _write_documents(folder: "Path", first: "Path", reading: Reading, data: list[str]) -> None:
    """Read the documents to list, by default from the columns that the first model was trained on."""
    from tfcr.serving import write_documents
    from tfcr.trained.model import TrainedModel

    model = TrainedModel.load(first, check=False)
    several = model.decision.several
    corpus = reading.corpus(data, model.training, model.classes.tolist(), several=several, keep_unlabelled=True)
    write_documents(corpus, folder)


def _work_folder(given: str | None) -> Path | None:
    """Return the folder for uploads, made if it is missing; None if there is none, and the user did not name one."""
    from tfcr.errors import InputError
    from tfcr.system.files import state_folder

    try:
        folder = Path(given).absolute() if given is not None else state_folder("serve")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if given is None:
            folder.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "it cannot be written to", str(folder))
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        if given is not None:
            raise InputError(f"found --work {given}, which cannot be used: {why}; expected a folder") from None
        note(f"no files can be classified in the browser ({why}); to allow it: --work FOLDER")
        return None
    return folder


def _tell(settings: "Settings") -> None:
    """Say where the server is, in lines that a person can click and a program can read."""
    note(f"serving {', '.join(settings.folders)} at {settings.address}")
    if settings.token is not None:
        note(f"open in a browser: {settings.link}")
    if settings.work is not None:
        note(f"uploaded files are kept in {settings.work} for {settings.keep_days} days after their last change")
    if not settings.is_local:
        note("texts and token travel in the clear: put a proxy with TLS before it (docs/serving.md)")
