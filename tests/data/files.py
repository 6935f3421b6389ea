"""The same small corpus in every data format."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import xlsxwriter

from tfcr.data import read_corpus

ROWS = [("good film", "pos"), ("bad film", "neg"), ("größe", "pos")]


def write_csv(folder: Path) -> Path:
    path = folder / "data.csv"
    path.write_text("id,text,label\n" + "".join(f'1,"{text}",{label}\n' for text, label in ROWS), "utf-8")
    return path


def write_tsv(folder: Path) -> Path:
    path = folder / "data.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS), "utf-8")
    return path


def write_jsonl(folder: Path) -> Path:
    path = folder / "data.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "label": label}) for text, label in ROWS), "utf-8")
    return path


def write_parquet(folder: Path) -> Path:
    pl.DataFrame(ROWS, schema=["text", "label"], orient="row").write_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def write_xlsx(folder: Path) -> Path:
    pl.DataFrame(ROWS, schema=["text", "label"], orient="row").write_excel(folder / "data.xlsx")
    return folder / "data.xlsx"


def write_sheets(path: Path, **sheets: list[list[Any]]) -> Path:
    """Write a workbook cell by cell, with dates and times as such; None is an empty cell."""
    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd hh:mm"}) as workbook:
        for name, rows in sheets.items():
            sheet = workbook.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def write_fasttext(folder: Path) -> Path:
    path = folder / "data.txt"
    path.write_text("".join(f"__label__{label} {text}\n" for text, label in ROWS), "utf-8")
    return path


def write_folder(folder: Path) -> Path:
    for number, (text, label) in enumerate(ROWS):
        (folder / "data" / label).mkdir(parents=True, exist_ok=True)
        (folder / "data" / label / f"{number}.txt").write_text(text, "utf-8")
    (folder / "data" / "pos" / ".DS_Store").write_bytes(b"\xff")
    return folder / "data"


def write_tar(folder: Path) -> Path:
    with tarfile.open(folder / "data.tar.gz", "w:gz") as archive:
        archive.add(write_folder(folder), "top")
        link = tarfile.TarInfo("top/pos/link")
        link.type, link.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(link)
    return folder / "data.tar.gz"


def write_lines(folder: Path) -> Path:
    (folder / "labels.txt").write_text("".join(f"{label}\n" for _, label in ROWS))
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text, _ in ROWS), "utf-8")
    return folder / "texts.txt"


FILES: dict[str, Callable[[Path], Path]] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "xlsx": write_xlsx,
    "fasttext": write_fasttext,
    "lines": write_lines,
    "folder": write_folder,
    "tar": write_tar,
}
"""A row for each of READERS: writes ROWS into a folder in that format, and returns the file."""


def pairs(*paths: Path, **options: Any) -> list[tuple[str, Any]]:
    corpus = read_corpus(*paths, **options)
    return list(zip(corpus.texts, corpus.labels, strict=True))
