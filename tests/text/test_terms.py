"""Terms found by plain Python against those that counting finds."""

import numpy as np
import pytest

from tfcr.errors import InputError
from tfcr.text.documents import count_terms
from tfcr.text.terms import find_terms
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary

TEXTS = ["so good, so good!", "", "bad: so bad :-)", "new good bad new", "!"]


@pytest.mark.parametrize("tokenizer", ["words", "symbols", "paper"])
@pytest.mark.parametrize("unseen", [True, False])
@pytest.mark.parametrize("bigrams", [True, False])
def test_the_same_terms_are_found_as_are_counted(tokenizer: str, unseen: bool, bigrams: bool) -> None:
    training = count_terms([*TEXTS[:3], *TEXTS[:3]], tokenizer, bigrams=bigrams).vocabulary
    expected = count_terms(TEXTS, tokenizer, training, unseen=unseen)
    found = find_terms(TEXTS, TOKENIZERS[tokenizer], training, unseen=unseen)
    assert list(found.unseen) == list(expected.vocabulary.unseen)
    dense = np.zeros(expected.matrix.shape, np.int32)
    dense[found.batch.documents(), found.batch.words] = found.batch.counts
    assert dense.tolist() == expected.matrix.toarray().tolist()
    assert found.batch.lengths.tolist() == expected.lengths.tolist()
    lengths = np.maximum(expected.lengths, 1)
    np.testing.assert_allclose(np.where(expected.lengths, 1 - found.known / lengths, 0), expected.unknown_fractions())


def test_the_tokens_of_an_own_tokenizer_are_checked() -> None:
    with pytest.raises(InputError, match="expected a list of strings"):
        find_terms(["a"], lambda text: text, Vocabulary(["a"]), unseen=False)
