"""The shape of the project: public names, one direction of imports, one row in one table."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tfcr

SOURCE = Path(tfcr.__file__).parent

LAYERS = [
    {"errors", "kernels"},
    {"system"},
    {"text", "data"},
    {"schemes", "embeddings"},
    {"features", "decision"},
    {"heads"},
    {"trained"},
    {"classifier", "transformers", "presets"},
    {"evaluation", "predict_table"},
    {"experiment"},
    {"cli", "report", "warmup", "__main__"},
]
"""From the bottom up; a unit is a folder or a module of ``tfcr`` itself."""


def unit_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def layer_of(unit: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if unit in layer)


def imported_units(file: Path) -> set[str]:
    modules = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tfcr":
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [name.name for name in node.names if name.name.split(".")[0] == "tfcr"]
    return {unit_of(module) for module in modules}


def unit_of_file(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = [file for file in sorted(SOURCE.rglob("*.py")) if unit_of_file(file) != "__init__"]


def test_every_unit_is_in_one_layer() -> None:
    found = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    units = [unit for layer in LAYERS for unit in layer]
    assert sorted(found - {"__init__"}) == sorted(units)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_module_imports_only_from_its_layer_and_those_below(file: Path) -> None:
    layer = layer_of(unit_of_file(file))
    above = {unit for unit in imported_units(file) if layer_of(unit) > layer}
    assert not above


def test_units_of_one_layer_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for file in FILES:
        graph.setdefault(unit_of_file(file), set()).update(imported_units(file) - {unit_of_file(file)})
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_kernels_import_nothing_of_ours() -> None:
    for file in (SOURCE / "kernels").glob("*.py"):
        assert imported_units(file) <= {"kernels"}


def test_public_names() -> None:
    assert set(tfcr.__all__) == {
        "ClassCounts",
        "Embeddings",
        "PRESETS",
        "SCHEMES",
        "TfcrClassifier",
        "TfcrError",
        "TfcrWarning",
        "TrainedModel",
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


def test_a_trained_model_needs_no_scikit_learn(tmp_path: Path) -> None:
    code = (
        "import sys; from tfcr import TrainedModel; model = TrainedModel.load(sys.argv[1]); model.predict(['w0_1']); "
        "print([name for name in ('sklearn', 'numba', 'polars', 'gensim') if name in sys.modules])"
    )
    folder = Path(__file__).parent / "models" / "schema-3"
    result = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    assert result.stdout == "[]\n"
