"""The shape of the project: public names, one direction of imports, one row in one table."""

import ast
import re
from pathlib import Path

import pytest

import tfcr

SOURCE = Path(tfcr.__file__).parent

STAGES = [
    "kernels",
    "errors",
    "machine",
    "files",
    "download",
    "archives",
    "compiled",
    "wordlist",
    "corpus",
    "characters",
    "tokenizers",
    "bytecounts",
    "documents",
    "terms",
    "counts",
    "schemes",
    "embeddings",
    "blocks",
    "holding",
    "features",
    "inputs",
    "vectors",
    "heads",
    "bytescores",
    "wordtable",
    "parts",
    "mixing",
    "explain",
    "storage",
    "records",
    "card",
    "presets",
    "model",
    "loading",
    "evaluation",
    "tabular",
    "warmup",
    "experiment",
    "report",
    "cli",
    "__main__",
]


def stage_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def imported_stages(file: Path) -> set[str]:
    modules = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tfcr":
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [name.name for name in node.names if name.name.split(".")[0] == "tfcr"]
    return {stage_of(module) for module in modules}


def test_every_module_is_a_stage() -> None:
    found = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__"} == set(STAGES)


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_from_stages_before_it(file: Path) -> None:
    stage = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if stage == "__init__":
        return
    allowed = set(STAGES[: STAGES.index(stage) + 1])
    assert imported_stages(file) <= allowed


def test_public_names() -> None:
    assert set(tfcr.__all__) == {
        "ClassCounts",
        "Embeddings",
        "PRESETS",
        "SCHEMES",
        "TfcrClassifier",
        "TfcrError",
        "TfcrWarning",
        "WeightedEmbeddingTransformer",
        "WeightedEmbeddingVectorizer",
        "load",
    }
    assert (SOURCE / "py.typed").exists()


def test_nothing_can_run_what_a_file_says() -> None:
    for file in SOURCE.rglob("*.py"):
        code = file.read_text("utf-8")
        assert not re.search(r"\b(pickle\.load|eval\(|exec\(|allow_pickle=True|joblib\.load)", code), file


def test_no_path_of_a_machine_is_in_the_source() -> None:
    for file in SOURCE.rglob("*.py"):
        assert not re.search(r"/(home|work|root|Users)/\w", file.read_text("utf-8")), file
