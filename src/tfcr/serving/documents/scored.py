"""The documents of a server with the results of each model; those of a replaced model are made anew."""

import logging
from pathlib import Path

from tfcr.errors import TfcrError, in_one_line
from tfcr.serving.documents.results import Results
from tfcr.serving.documents.scoring import predictions_of
from tfcr.serving.documents.store import Documents
from tfcr.serving.models import Models, ServedModel
from tfcr.serving.problems import RequestError

logger = logging.getLogger("tfcr")


class ScoredDocuments:
    """Documents, and the results of each model by its name. Until a new model has scored, the old results stand."""

    def __init__(self, folder: Path, models: Models, threads: int) -> None:
        self.folder, self.models = folder, models
        self.documents = Documents.load(folder)
        self._results = {name: self._made(served, threads) for name, served in models.current.items()}

    def get(self, name: str | None) -> Results:
        """Return the results of a model; of the only one if no name is given."""
        return self._results[self.models.get(name).name]

    def renew(self, name: str) -> None:
        """Score the documents by the model that is in use now; with one thread, since requests need the others."""
        served = self.models.current[name]
        if served.hash == self._results[name].served.hash:
            return
        try:
            self._results[name] = self._made(served, threads=1)
        except (TfcrError, OSError, MemoryError) as error:
            before = self._results[name].served.hash
            logger.warning("the documents of %s stay as %s scored them: %s", name, before, in_one_line(error))

    def _made(self, served: ServedModel, threads: int) -> Results:
        return Results(self.documents, served, predictions_of(self.documents, served, self.folder, threads))


def whole_number(name: str, given: str, least: int, most: int) -> int:
    """Return a parameter of an address as a number."""
    if not (given.isascii() and given.isdecimal() and len(given) < 16 and least <= int(given) <= most):
        raise RequestError(422, f"{name}: found {given[:80]!r}", f"a whole number from {least} to {most:,}")
    return int(given)
