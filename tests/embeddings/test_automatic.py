"""``embeddings="auto"``: what is chosen for which texts, and that it never fails for lack of vectors."""

from typing import Any

import numpy as np
import pytest

from tests.conftest import random_corpus
from tfcr import Embeddings, TfcrClassifier, load
from tfcr.embeddings import resolve_tables, sources_of
from tfcr.embeddings.automatic import CANDIDATES, ENOUGH_TOKENS, Choice, choose_embeddings, known_fraction
from tfcr.embeddings.pretrained import PRETRAINED, is_ready
from tfcr.errors import EmbeddingsError, InputError
from tfcr.evaluation import cross_validate
from tfcr.text.documents import CountedDocuments, count_terms

WORDS = [f"w{label}_{number}" for label in range(3) for number in range(6)]
GLOVE = Embeddings.from_arrays(
    [*WORDS, *(f"common{number}" for number in range(8))], np.random.default_rng(0).normal(size=(26, 4)), name="glove"
)
LLAMA = Embeddings.from_arrays(
    [" w0", " w1", " w2", " common", *map(str, range(8)), *(f"_{number}" for number in range(6))],
    np.random.default_rng(1).normal(size=(18, 3)),
    name="llama",
    segmentation="longest",
)
OTHER = Embeddings.from_arrays(["elsewhere"], [[1.0]], name="other")
OTHER_PIECES = Embeddings.from_arrays([" elsewhere"], [[1.0]], name="other pieces", segmentation="longest")
CORPUS = random_corpus(60)
TEXTS = CORPUS.texts


def install(monkeypatch: pytest.MonkeyPatch, glove: Embeddings | None = None, llama: Embeddings | None = None) -> None:
    tables = dict(zip(CANDIDATES, (glove, llama), strict=True))
    monkeypatch.setattr("tfcr.embeddings.automatic.installed", tables.__getitem__)


@pytest.mark.parametrize(
    ("glove", "llama", "names", "reasons"),
    [
        (GLOVE, LLAMA, ["glove", "llama"], ""),
        (GLOVE, None, ["glove"], "wordllama is not installed: pip install 'tfcr[static]'"),
        (GLOVE, OTHER_PIECES, ["glove"], "wordllama knows 0% of these texts, less than 50%"),
        (None, LLAMA, ["llama"], "wglove-50 is not installed: pip install 'tfcr[glove]'"),
        (OTHER, LLAMA, ["llama"], "wglove-50 knows 0% of these texts, less than 50%"),
        (OTHER, OTHER_PIECES, ["w2v"], "wglove-50 knows 0% of these texts, less than 50%; wordllama knows 0%"),
        (None, None, ["w2v"], "tfcr[glove]'; wordllama is not installed: pip install 'tfcr[static]'"),
    ],
)
def test_the_best_of_what_is_installed_and_knows_the_texts(
    glove: Embeddings | None,
    llama: Embeddings | None,
    names: list[str],
    reasons: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, glove, llama)
    choice = choose_embeddings(count_terms(TEXTS))
    assert [source if isinstance(source, str) else source.name for source in choice.sources] == names
    assert reasons in "; ".join(choice.reasons)
    assert bool(reasons) == bool(choice.reasons)


def test_with_enough_text_word2vec_is_weighted_by_class_instead_of_sub_words(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, OTHER, LLAMA)
    assert choose_embeddings(count_terms(["w0_1"] * (ENOUGH_TOKENS - 1))).sources == (LLAMA,)
    assert choose_embeddings(count_terms(["w0_1"] * ENOUGH_TOKENS)).sources == ("w2v", LLAMA)
    install(monkeypatch, GLOVE, LLAMA)
    assert choose_embeddings(count_terms(["w0_1"] * ENOUGH_TOKENS)).sources == (GLOVE, LLAMA)


def test_a_word_is_known_if_it_is_frequent_or_made_of_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    words, occurrences = ["!", "12", "gut", "the"], np.array([5.0, 5.0, 1.0, 3.0])
    table = Embeddings.from_arrays(["!", "12", "the", "gut"], np.eye(4))
    assert known_fraction(table, words, occurrences) == 1
    monkeypatch.setattr("tfcr.embeddings.automatic.FREQUENT", 3)  # a list has words of other languages, further down
    assert known_fraction(table, words, occurrences) == 0.75
    pieces = Embeddings.from_arrays([" th", "e", "u"], np.eye(3), segmentation="longest")
    assert known_fraction(pieces, words, occurrences) == pytest.approx((1 + 3 * 3) / 12)
    assert known_fraction(table, ["!", "12"], np.array([1.0, 1.0])) == 0


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates_come_in_packages(name: str) -> None:
    assert PRETRAINED[name].installed is not None
    assert PRETRAINED[name].source.startswith("pip install")


@pytest.mark.skipif(not all(map(is_ready, CANDIDATES)), reason="needs the extras glove and static")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The president said on Monday that the new law would help the poor", ["wglove-50", "wordllama"]),
        ("Der Bundestag hat am Donnerstag nach langer Debatte ein neues Gesetz beschlossen", ["wordllama"]),
        ("总统 周一 表示 新 法律 将 帮助 穷人", ["wordllama"]),
        ("1 2 3 ! ?", []),
    ],
)
def test_languages(text: str, names: list[str]) -> None:
    notes: list[str] = []
    tables = resolve_tables("auto", [text], lambda: count_terms([text], "symbols"), note=notes.append)
    assert [table.name for table in tables] == names
    assert notes[0].startswith(f"vectors: {' + '.join(names) or 'none'}")


def test_the_choice_is_named_on_the_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    install(monkeypatch, GLOVE, LLAMA)
    model = TfcrClassifier(random_state=0).fit(TEXTS, CORPUS.labels)
    assert model.training_["embeddings"] == "glove + llama"
    model.save(tmp_path / "model")
    assert "glove + llama" in (tmp_path / "model" / "README.md").read_text("utf-8")
    again = load(tmp_path / "model")
    assert (again.embeddings, again.training_["embeddings"]) == ("auto", "glove + llama")
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))


@pytest.mark.filterwarnings("ignore::tfcr.errors.CorpusWarning")
def test_too_few_texts_for_vectors_leave_out_the_parts_that_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    texts, labels = ["one two", "three four", "five six", "seven eight"], ["a", "b", "a", "b"]
    notes: list[str] = []
    model = TfcrClassifier()
    assert model.load_embeddings(texts, note=notes.append) == []
    assert notes[0].startswith("vectors: none, so that the parts that need vectors are left out (")
    assert "no word occurs 2 times in the 4 texts given" in notes[0]
    model.fit(texts, labels)
    assert (list(model.part_weights_), model.training_["embeddings"]) == (["ngrams"], None)
    with pytest.raises(InputError, match="found no vectors for the parts vectors: too few texts to train word2vec on"):
        TfcrClassifier(parts=["vectors"]).fit(texts, labels)
    with pytest.raises(EmbeddingsError, match="no word occurs 2 times"):
        TfcrClassifier(embeddings="w2v").fit(texts, labels)


def test_vectors_that_know_no_word_of_a_fold_are_left_out_of_it() -> None:
    documents = count_terms(["one two", "three four"], "symbols", bigrams=True)
    labels = np.array(["a", "b"])
    model = TfcrClassifier().fit_counted(documents, labels, np.ones(2), [OTHER, OTHER_PIECES])
    assert (list(model.part_weights_), model.training_["embeddings"]) == (["ngrams"], None)


def test_cross_validation_chooses_once(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, GLOVE, LLAMA)
    chosen = []

    def choose(documents: CountedDocuments) -> Choice:
        chosen.append(len(documents))
        return choose_embeddings(documents)

    monkeypatch.setattr("tfcr.embeddings.automatic.choose_embeddings", choose)
    assert cross_validate(TfcrClassifier(random_state=0), CORPUS, folds=2).macro_f1 > 0.9
    assert chosen == [60]


def test_several_sources(tmp_path: Any) -> None:
    plus = tmp_path / "a+b.vec"
    GLOVE.save(plus)
    assert sources_of(str(plus)) == [str(plus)]
    assert sources_of(plus) == [plus]
    assert sources_of("w2v + wordllama") == ["w2v", "wordllama"]
    LLAMA.save(tmp_path / "l.safetensors")
    both = f"{tmp_path / 'l.safetensors'}+w2v"
    model = TfcrClassifier(embeddings=both, dimensions=4, random_state=0).fit(TEXTS, CORPUS.labels)
    assert model.training_["embeddings"] == "l.safetensors + w2v"


def test_auto_is_no_vectors_by_itself() -> None:
    with pytest.raises(EmbeddingsError, match="'auto' stands for what TfcrClassifier chooses for its texts"):
        Embeddings.load("auto")
