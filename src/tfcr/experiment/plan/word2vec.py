"""How in-domain word2vec is trained, and on which texts."""

from dataclasses import dataclass

W2V_SOURCES = {
    "dataset": "in-domain word2vec was trained on the whole dataset's text without labels, that of the test documents "
    "included, as in the paper",
    "train": "in-domain word2vec was trained on the text of each training fold alone",
}
"""What in-domain word2vec is trained on, in words."""


@dataclass(frozen=True)
class Word2Vec:
    """How in-domain word2vec is trained; the paper does not say. `trained_on` is a name of W2V_SOURCES."""

    dimensions: int = 100
    window: int = 5
    epochs: int = 10
    skip_gram: bool = False
    min_count: int = 2
    trained_on: str = "dataset"

    def described(self) -> str:
        """Return the settings in words."""
        kind = "skip-gram" if self.skip_gram else "CBOW"
        return (
            f"word2vec, {kind}, {self.dimensions} dimensions, window {self.window}, {self.epochs} epochs, "
            f"words that occur at least {self.min_count} times"
        )
