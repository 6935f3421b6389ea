"""Sub-word vocabularies of other libraries as pieces in our notation (see `tfcr.text.pieces`).

vocabulary                   begins a word       inside a word      cut by
WordPiece, as BERT's         the   -> " the"     ##ing -> "ing"     longest
BPE, as sentencepiece's      ▁the  -> " the"     ing   -> "ing"     merge: in the order of their numbers
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

from tfcr.errors import EmbeddingsError, in_one_line
from tfcr.system.limits import parse_json, read_regular

INSIDE = "##"
SPACE = "▁"
_NO_TEXT = re.compile(r"<0x[0-9A-F]{2}>|\[unused\d+\]")
"""Pieces that stand for no text of ours: a byte of a character that has no piece, a place that is free."""


@dataclass(frozen=True)
class Subwords:
    """The pieces of a sub-word vocabulary.

    Attributes
    ----------
    pieces
        In our notation, in the order of their numbers.
    numbers
        The number of each in its vocabulary, which is the row of its vector.
    segmentation
        A name of SEGMENTATIONS.
    """

    pieces: list[str]
    numbers: list[int]
    segmentation: str


def read_tokenizer(path: Path) -> Subwords:
    """Read the vocabulary of a ``tokenizer.json``, as the library ``tokenizers`` writes it."""
    try:
        tokenizer = parse_json(read_regular(path, "settings"))
        vocabulary = {piece: index(number) for piece, number in dict(tokenizer["model"]["vocab"]).items()}
        special = {token["content"] for token in tokenizer.get("added_tokens", []) if token["special"]}
        kind = _kind_of(tokenizer["model"]["type"], vocabulary)
        in_order = sorted(vocabulary, key=vocabulary.__getitem__)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EmbeddingsError(
            f"{path} is damaged, or no tokenizer.json of the library tokenizers ({in_one_line(error)})"
        ) from None
    if kind is None:
        raise EmbeddingsError(
            f"{path} holds a vocabulary of the type {tokenizer['model']['type']}; expected WordPiece, as of BERT, or "
            "BPE of sentencepiece, as of Llama 2: use another encoder"
        )
    segmentation, notation = kind
    named = {notation(piece): vocabulary[piece] for piece in in_order if not _is_special(piece, special)}
    named = {piece: number for piece, number in named.items() if piece.strip(" ")}  # white space is in no word
    return Subwords(list(named), list(named.values()), segmentation)


def _kind_of(name: str, vocabulary: dict[str, int]) -> tuple[str, Callable[[str], str]] | None:
    """Return the segmentation, and what a piece is in our notation."""
    if name == "WordPiece":
        return "longest", lambda piece: piece.removeprefix(INSIDE) if piece.startswith(INSIDE) else f" {piece}"
    if name == "BPE" and any(piece.startswith(SPACE) for piece in vocabulary):  # others cut bytes, not characters
        return "merge", lambda piece: piece.replace(SPACE, " ")
    return None


def _is_special(piece: str, special: set[Any]) -> bool:
    return piece in special or _NO_TEXT.fullmatch(piece) is not None
