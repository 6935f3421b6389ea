"""Write the tables of docs/formats.md from the program itself: ``python docs/make_formats.py``."""

from pathlib import Path

from tfcr.data import READERS, WRITERS
from tfcr.system.limits import LIMITS, in_words

TARGET = Path(__file__).with_name("formats.md")


def reference() -> str:
    """Return the text of docs/formats.md, with its tables brought up to date."""
    text = TARGET.read_text("utf-8")
    readers = [
        f"| `{name}` | {reader.what.replace('|', chr(92) + '|')} | {_endings(reader.endings)} |"
        for name, reader in READERS.items()
    ]
    writers = [f"| `.{name}` | {writer.what} |" for name, writer in WRITERS.items()]
    text = _with_table(text, "readers", ["| `--format` | what it is | names end in |", "|---|---|---|", *readers])
    limits = [f"| {name} | {_amount(*limit[:2])} | {limit.what} |" for name, limit in LIMITS.items()]
    text = _with_table(text, "limits", ["| limit | most (rate: least) | of what |", "|---|---|---|", *limits])
    return _with_table(text, "writers", ["| `-o` ends in | what it is |", "|---|---|", *writers])


def _amount(value: int, unit: str) -> str:
    return in_words(value) if unit == "bytes" else f"{value:,} {unit}"


def _endings(endings: tuple[str, ...]) -> str:
    return ", ".join(f"`{ending}`" for ending in endings)


def _with_table(text: str, name: str, lines: list[str]) -> str:
    """Put the table between its two marks."""
    before, mark, rest = text.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    return before + mark + "\n".join(lines) + "\n" + end + after


if __name__ == "__main__":
    TARGET.write_text(reference(), "utf-8")
