"""Sub-word vocabularies of other libraries, in our notation."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.mutations import check_message, mutated
from tfcr.embeddings.subwords import read_tokenizer
from tfcr.errors import EmbeddingsError
from tfcr.text.pieces import Pieces

SPECIAL = [{"id": 0, "content": "[UNK]", "special": True}, {"id": 9, "content": "keep", "special": False}]
WORDPIECE = {
    "added_tokens": SPECIAL,
    "model": {
        "type": "WordPiece",
        "vocab": {"[UNK]": 0, "good": 3, "##ish": 2, "[unused7]": 1, "#": 4, "##": 5, "keep": 6},
    },
}
BPE = {
    "added_tokens": [{"content": "<unk>", "special": True}],
    "model": {
        "type": "BPE",
        "vocab": {"<unk>": 0, "<0x0A>": 1, "▁▁": 2, "▁g": 3, "oo": 4, "▁goo": 5, "d": 6, "▁": 7, "g": 8, "o": 9},
    },
}


def written(folder: Path, tokenizer: Any) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    return folder / "tokenizer.json"


def test_wordpiece(tmp_path: Path) -> None:
    found = read_tokenizer(written(tmp_path, WORDPIECE))
    assert found.segmentation == "longest"
    assert dict(zip(found.pieces, found.numbers, strict=True)) == {"ish": 2, " good": 3, " #": 4, " keep": 6}
    pieces = Pieces(found.pieces, found.segmentation)
    assert [found.pieces[number] for number in pieces.of_word("goodish")] == [" good", "ish"]


def test_bpe_of_sentencepiece(tmp_path: Path) -> None:
    found = read_tokenizer(written(tmp_path, BPE))
    assert found.segmentation == "merge"
    assert found.pieces == [" g", "oo", " goo", "d", "g", "o"]  # in the order in which they are joined
    assert found.numbers == [3, 4, 5, 6, 8, 9]
    pieces = Pieces(found.pieces, found.segmentation)
    assert [found.pieces[number] for number in pieces.of_word("goodoog")] == [" goo", "d", "oo", "g"]


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ({"model": {"type": "Unigram", "vocab": [["a", 1]]}}, "a vocabulary of the type Unigram; expected WordPiece"),
        ({"model": {"type": "BPE", "vocab": {"Ġa": 1}}}, "a vocabulary of the type BPE; .*: use another encoder"),
        ({"model": {"type": "WordPiece"}}, "is damaged, or no tokenizer.json of the library tokenizers"),
        ({"model": {"type": "WordPiece", "vocab": {"a": "x", "b": 1}}}, "is damaged, or no tokenizer.json"),
        ({"model": {"type": "WordPiece", "vocab": {"a": 1}}, "added_tokens": [3]}, "is damaged, or no tokenizer"),
        ([], "is damaged, or no tokenizer.json"),
    ],
)
def test_vocabularies_that_cannot_be_used(tokenizer: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsError, match=message):
        read_tokenizer(written(tmp_path, tokenizer))


@pytest.mark.parametrize("tokenizer", [WORDPIECE, BPE])
def test_mutated_vocabularies_are_read_or_refused(tokenizer: Any, tmp_path: Path) -> None:
    path = written(tmp_path, tokenizer)
    whole = path.read_bytes()
    random = Random(0)
    for _ in range(200):
        path.write_bytes(mutated(whole, random))
        try:
            found = read_tokenizer(path)
        except EmbeddingsError as error:
            check_message(error)
        else:
            assert len(found.pieces) == len(found.numbers) == len(set(found.pieces))
