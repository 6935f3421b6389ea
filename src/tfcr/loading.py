"""Load a model that was saved; every check that a folder from elsewhere needs."""

import os
from pathlib import Path
from typing import Any

from tfcr.classifier import TfcrClassifier
from tfcr.errors import InputError, ModelError, look_up
from tfcr.heads import LINKS
from tfcr.text.tokenizers import TOKENIZERS, AnyTokenizer
from tfcr.trained.codec import read_classes, read_counts, read_table
from tfcr.trained.format import load_folder

RENAMED = {"pairs": "bigrams", "signs": "symbols"}
"""What older models call it, and what it is called now."""


def load(path: str | os.PathLike[str], *, tokenizer: AnyTokenizer | None = None) -> TfcrClassifier:
    """Load a model that `TfcrClassifier.save` wrote. Nothing named in it is imported or run.

    Parameters
    ----------
    path
        The model's folder.
    tokenizer
        The callable that the model was trained with, if it was a callable; a model keeps only its name.
    """
    folder = Path(path)
    config, data = load_folder(folder)
    _check_tokenizer(config.get("settings"), folder, tokenizer)
    try:
        model = TfcrClassifier(**_restored(dict(config["settings"]), tokenizer))
        model.classes_ = read_classes(config["classes"])
        averagings, n_bigrams = tuple(config["averagings"]), config.get("bigrams", config.get("pairs", 0))
        model.table_ = read_table(data["table"], averagings, len(model.classes_), n_bigrams)
        model.counts_ = read_counts(data["counts"], model.classes_) if "counts" in data else None
        look_up(LINKS, config["link"], "link")
        model.link_ = config["link"]
        model.training_ = dict(config["training"])
        model.part_weights_ = dict(model.training_.get("shares") or {"vectors": 1.0})
    except ModelError as error:
        raise ModelError(f"{folder} is damaged: {error}; get or save the model again") from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{folder} is damaged: its config lacks or misstates {error}; save the model again") from None
    return model


def _check_tokenizer(settings: Any, folder: Path, tokenizer: AnyTokenizer | None) -> None:
    if not isinstance(settings, dict):
        return
    name = settings.get("tokenizer")
    if tokenizer is not None and not (callable(tokenizer) and settings.get("own_tokenizer")):
        raise InputError(f"found tokenizer={tokenizer!r}, but {folder} was trained with {name!r}; leave it out")
    if settings.get("own_tokenizer") and tokenizer is None:
        raise ModelError(
            f"{folder} was trained with a tokenizer of your own, {name!r}, of which a model keeps only the name; "
            f"give it again: load({str(folder)!r}, tokenizer={name})"
        )


def _restored(settings: dict[str, Any], tokenizer: AnyTokenizer | None) -> dict[str, Any]:
    """Return the parameters that `_settings` wrote."""
    del settings["own_tokenizer"]
    settings["parts"] = tuple(RENAMED.get(part, part) for part in settings.get("parts", ["vectors"]))
    settings["tokenizer"] = RENAMED.get(settings["tokenizer"], settings["tokenizer"])
    if tokenizer is not None:
        settings["tokenizer"] = tokenizer
    else:
        look_up(TOKENIZERS, settings["tokenizer"], "tokenizer")
    if isinstance(settings["class_weight"], list):
        settings["class_weight"] = dict(settings["class_weight"])
    return settings
