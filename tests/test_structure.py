"""The shape of the project: public names, one direction of imports, one row in one table."""

import ast
import graphlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tfcr
from tfcr.trained.format import SCHEMA

SOURCE = Path(tfcr.__file__).parent

LAYERS = [
    {"errors", "kernels"},
    {"system", "pages"},
    {"text", "data"},
    {"schemes", "embeddings"},
    {"features", "decision"},
    {"heads", "cluster"},
    {"trained"},
    {"classifier", "counting", "transformers", "presets"},
    {"evaluation", "predict_table", "predict_files"},
    {"experiment", "labelling"},
    {"cli", "report", "serving", "warmup", "__main__"},
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


NEEDED = ("numpy", "numpy.libs", "safetensors", "tfcr")
"""All that an environment for prediction has, besides Python."""


def test_a_trained_model_needs_numpy_and_safetensors_alone(tmp_path: Path) -> None:
    """In an environment that has nothing else: load, predict, explain, and list words."""
    for name in NEEDED:
        for place in (SOURCE.parent, *map(Path, sys.path)):
            if (place / name).is_dir():
                (tmp_path / name).symlink_to((place / name).resolve())
                break
    code = (
        "import sys; from tfcr import TrainedModel; model = TrainedModel.load(sys.argv[1]); "
        "found = model.predict(['w0_1 unseen']), model.predict_proba(['w0_1']), model.explain('w0_1 unseen w1_2'); "
        "model.top_words(3); TrainedModel.load(sys.argv[1], check=False).predict(['w0_1'] * 3); "
        "top = {name.split('.')[0] for name in sys.modules}; print(sorted(top - set(sys.stdlib_module_names)))"
    )
    folder = Path(__file__).parent / "models" / f"schema-{SCHEMA}"
    # -S: no site-packages; what is imported comes from this folder, or from Python itself
    result = subprocess.run(
        [sys.executable, "-S", "-c", code, str(folder)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
    )
    loaded = set(json.loads(result.stdout.replace("'", '"')))
    assert {"numpy", "tfcr"} <= loaded <= {"__main__", "numpy", "safetensors", "tfcr"}


COMMANDS: dict[str, set[str]] = {
    "explain MODEL w0_1": {"rich"},
    "words MODEL": {"rich"},
    "predict MODEL DATA": {"polars"},
    "export MODEL --html PAGE": set(),
}
"""What commands load, of packages that take long to load."""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_loads_what_it_uses(command: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("text\nw0_1\n")
    places = {
        "MODEL": str(Path(__file__).parent / "models" / f"schema-{SCHEMA}"),
        "DATA": str(tmp_path / "data.csv"),
        "PAGE": str(tmp_path / "page.html"),
    }
    code = (
        "import sys; from tfcr.cli import app; app(sys.argv[1:], standalone_mode=False); slow = {'sklearn', 'scipy', "
        "'numba', 'polars', 'gensim', 'rich', 'ssl', 'pandas'}; print('loaded', *sorted(slow & set(sys.modules)))"
    )
    arguments = [places.get(word, word) for word in command.split()]
    result = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    assert set(result.stdout.splitlines()[-1].split()[1:]) == COMMANDS[command]


def test_the_estimator_is_loaded_when_it_is_asked_for() -> None:
    code = "import sys, tfcr; print('sklearn' in sys.modules, callable(tfcr.load), 'sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "False True True\n"
