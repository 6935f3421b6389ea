"""Systems by name: the presets of TfcrClassifier, and what people use today."""

from tfcr.classifier import TfcrClassifier
from tfcr.errors import MissingExtraError, look_up
from tfcr.experiment.plan.peers import PEERS, is_installed
from tfcr.experiment.plan.systems import PresetSystem, System
from tfcr.presets import PRESETS


def resolve_system(system: str | System, tokenizer: str = "") -> System:
    """Return a system: a preset by the name of its row in PRESETS, a peer by that in PEERS, or the object itself.

    A preset uses the `tokenizer` that a dataset needs, or its own. Peers have their own.
    """
    if not isinstance(system, str):
        return system
    look_up({**PRESETS, **PEERS}, system, "system")
    if system in PEERS:
        if not is_installed(PEERS[system]):
            raise MissingExtraError(f"the system {system}", PEERS[system].extra)
        return PEERS[system]
    model = TfcrClassifier.from_preset(system)
    needs_vectors = model.embeddings is not None and model.uses_vectors
    return PresetSystem(system, needs_vectors, tokenizer or str(model.tokenizer))
