"""``tfcr label``."""

from typing import TYPE_CHECKING, Annotated, Any

from tfcr.cli.help import input_option, output_option
from tfcr.cli.options import Data, Reading, with_options
from tfcr.cli.output import if_stopped, note
from tfcr.cli.serve import address_option

if TYPE_CHECKING:
    from tfcr.serving import Settings


@with_options
def label(
    data: Data,
    output: Annotated[
        str,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the answers, .jsonl, that tfcr train reads; if it is there, labelling is resumed.",
            show_default=False,
        ),
    ],
    reading: Reading,
    classes: Annotated[
        list[str] | None,
        input_option(
            "--classes",
            metavar="NAMES",
            help="Classes, separated by commas; those of labels that are there already are added.",
        ),
    ] = None,
    several: Annotated[bool, input_option("--several", help="A text may have several labels, or none.")] = False,
    no_labels: Annotated[
        bool, input_option("--no-labels", help="Ask for all labels, also those that the data has.")
    ] = False,
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
            help="What browsers must know, of 16 characters or more; 'generated' makes one. Other users of this "
            "machine see the options of a command: rather set TFCR_TOKEN.",
            show_default="none on this machine; generated for other addresses",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        address_option("--allow-host", metavar="NAME", help="Name that browsers call this machine by; repeat."),
    ] = None,
    no_browser: Annotated[bool, address_option("--no-browser", help="Print the link, and open no browser.")] = False,
) -> None:
    """Label texts in the browser; it asks for those that teach most.

    No model is needed. Every answer is on disk before it is acknowledged. To go on later, type the same command again.

    \b
    tfcr label tickets.csv --classes hardware,network,accounts -o answers.jsonl
    tfcr train answers.jsonl -o model
    """
    from pathlib import Path

    from tfcr.labelling import Pool, Session
    from tfcr.labelling.answers import opened_answers
    from tfcr.serving import Settings, serve
    from tfcr.serving.label import make_label_app
    from tfcr.serving.settings import token_for

    settings = Settings({}, host, port, token_for(token, host), tuple(allow_host or ()))
    names = _names(classes or [])
    found = reading.partly_labelled(data)
    labels = [None] * len(found.texts) if no_labels else found.labels
    pool = Pool.of(found.texts, labels, found.rows)
    _check_open(labels)
    with opened_answers(Path(output), pool) as file:
        session = Session(pool, names, several=several, file=file)
        if_stopped(f"the answers are in {output}; to go on, type the same command again")
        note(f"{len(pool):,} texts, {len(session.known()):,} of them with a label")
        session.prepare()
        app = make_label_app(session, settings, ", ".join(Path(one).name for one in data), output)
        serve(settings, lambda started: _tell(started, browser=not no_browser), lambda _: app)
        answers = f"{session.n_answers:,} answers are in {output}"
        note(f"{answers}; next: tfcr train {output} -o model")


def _names(given: list[str]) -> list[str]:
    """Return the classes of an option, which may be repeated."""
    return [name.strip() for names in given for name in names.split(",") if names.strip()]


def _check_open(labels: list[Any]) -> None:
    from tfcr.errors import InputError

    if None not in labels:
        raise InputError(
            f"found a label for each of the {len(labels):,} texts; expected some without one. Train on them (tfcr "
            "train), or ask for all labels again: --no-labels"
        )


def _tell(settings: "Settings", *, browser: bool) -> None:
    """Say where the page is, and open it."""
    note(f"labelling at {settings.address}; Ctrl-C ends it")
    if settings.token is not None:
        note(f"open in a browser: {settings.link}")
    if not settings.is_local:
        note("texts and token travel in the clear: put a proxy with TLS before it (docs/serving.md)")
    if browser:
        import threading
        import webbrowser

        # some browsers return only when they are closed
        threading.Thread(target=webbrowser.open, args=(settings.link,), daemon=True).start()
