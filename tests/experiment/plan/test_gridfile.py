"""Experiments in TOML files."""

from pathlib import Path

import pytest

from tests.experiment.conftest import (
    Run,
    assert_refused,
)
from tfcr.errors import InputError
from tfcr.experiment import (
    PROFILES,
    Word2Vec,
)
from tfcr.experiment.plan.gridfile import read_grid
from tfcr.experiment.plan.grids import make_request


@pytest.mark.parametrize(
    ("name", "message"), [("no.toml", "no.toml does not exist"), ("z" * 300, "File name too long")]
)
def test_files_that_are_not_there(name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"{message}(;|$)"):
        read_grid(Path(name))


def test_a_small_toml_file(data: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(data.read_bytes())
    file = tmp_path / "my.toml"
    file.write_text(
        """
        [experiment]
        schemes = ["none", "tfcr"]
        heads = ["lr"]
        systems = ["fast"]
        profile = ["equations", "published"]
        folds = "2/5"
        sizes = [50, "all"]
        seeds = [0, 1]
        sample = 1000
        word2vec = { dimensions = 8, epochs = 1 }
        vector_length = 0.5

        [datasets.own]
        path = "own.csv"
        text = ["text"]
        label = "label"
        tokenizer = "words"

        [datasets.pydocs]

        [embeddings.w2v]

        [embeddings.mine]
        path = "v.vec"
        """
    )
    asked, _ = make_request(file=read_grid(file), given={"heads": ("svm",)})
    assert [dataset.source for dataset in asked.datasets] == [str(tmp_path / "own.csv"), "pydocs"]
    assert asked.datasets[0].options.text == ("text",)
    assert [choice.source for choice in asked.embeddings] == ["w2v", str(tmp_path / "v.vec")]
    assert (asked.schemes, asked.heads, asked.profiles) == (("none", "tfcr"), ("svm",), ("equations", "published"))
    assert asked.systems == ("fast",)
    assert (asked.folds, asked.first_folds, asked.sizes, asked.seeds) == (5, 2, (50, None), (0, 1))
    assert asked.word2vec_of(PROFILES["equations"]) == Word2Vec(dimensions=8, epochs=1)
    assert asked.vector_length_of(PROFILES["equations"], "a.vec") == 0.5
    asked.check()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[experiment", "is not valid TOML"),
        ("[datasts.x]\npath = 'x.csv'", "unknown section in my.toml: 'datasts'; known: experiment, datasets"),
        ("[experiment]\nscheme_from = 'evil.py:f'", "unknown key in .experiment. of my.toml: 'scheme_from'"),
        ("[experiment]\nfolds = 'ten'", "found 'ten' for folds"),
        ("[datasets.x]\npth = 'x.csv'", "unknown key in .datasets.x.: 'pth'"),
        ("[datasets]\nx = 'x.csv'", "expected a section with path"),
        ("[embeddings.x]\nfile = 'x.csv'", "unknown key in .embeddings.x.: 'file'"),
        ("[datasets.pydocs]\n[experiment]\nschemes = ['mine']", "given as code: --scheme-from FILE.py:mine"),
        ("[datasets.pydocs]\n[experiment]\nheads = ['forest']", "unknown head 'forest'"),
        ("[datasets.pydocs]\n[experiment]\nsystems = 'good'", "unknown system 'good'; known: .*best"),
        ("[datasets.pydocs]\n[experiment]\nprofile = 'printed'", "unknown profile 'printed'"),
        ("[datasets.pydocs]\n[experiment]\nfolds = 1", "found folds=1; expected a whole number from 2"),
        ("[datasets.pydocs]\n[experiment]\nsample = 5", "found a sample of 5 for 10 folds"),
        ("[datasets.pydocs]\n[experiment]\nseeds = [-1]", "found seed=-1; expected a whole number from 0"),
        ("[datasets.pydocs]\ntokenizer = 'letters'", "unknown tokenizer 'letters'"),
        ("[experiment]\nheads = 'lr'", "found nothing to run"),
        ("[experiment]\nword2vec = { epochs = 'ten' }", "found epochs = 'ten' in .* expected a value of type int"),
        ("[datasets.x]\npath = 'x.csv'\nquoting = 'none'", "expected a value of type bool"),
        ("[experiment]\nsizes = '1:1000000000:1'", "found 1,000,000,000 training sizes in .*at most 10,000 in all"),
        ("[experiment]\nsizes = '1:9000:1,10000:19000:1'", "found 9,001 training sizes .* larger STEP"),
        (f"[experiment]\nsizes = '1:{'9' * 4000}:1'", "found '9{79}… for training size; expected a whole number up to"),
        (f"[experiment]\nseeds = {'9' * 5000}", "is not valid TOML: .*Exceeds the limit"),
        (f"[experiment]\nseeds = '{'9' * 5000}'", "found '9{79}… for seeds; expected a whole number"),
        (
            f"[experiment]\nsample = 0x{'f' * 5000}",
            "found 'a value of type int .*' for sample; expected a whole number",
        ),
        (f"[experiment]\nseeds = {'[' * 5000}", "is nested too deeply"),
        (f"x = {'{a=' * 5000}", "is nested too deeply|is not valid TOML"),
        ("[experiment]\nschemes = [[1]]", "expected names or numbers"),
        ("[experiment]\nseeds = {a = 1}", "expected names or numbers"),
        ("[datasets.x]\npath = 3", r"found path = 3 in .datasets.x.; expected a value of type str"),
        ("[datasets.x]\npath = 'x.csv'\ntext = [['a']]", "expected a list of texts"),
        (
            "[datasets.pydocs]\n[experiment]\nword2vec = { dimensions = 0 }",
            "found dimensions=0; expected a whole number",
        ),
        ("[datasets.pydocs]\n[experiment]\nword2vec = { epochs = 1000000 }", "found epochs=1000000; expected a whole"),
        ("[datasets.pydocs]\n[experiment]\nseeds = [4294967296]", "found seed=4294967296; expected a whole number"),
        ("[datasets.pydocs]\n[experiment]\nfolds = 100000", "found folds=100000; expected a whole number from 2"),
        (f"[{'a.' * 200_000}a]", "has a line with more than 1,000 dots"),
        ("#" * (1 << 21), "has more than 1,048,576 bytes"),
    ],
)
def test_toml_files_that_are_refused(content: str, message: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(content)
    (tmp_path / "evil.py").write_text("raise SystemExit('loaded')")
    result = run("experiment", "run", file, "--results", tmp_path / "r.sqlite")
    assert_refused(result, message)
    assert not (tmp_path / "r.sqlite").exists()


def test_keys_that_only_programs_use_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('[datasets.own]\npath = "own.csv"\ndefault_text = "text"\n')
    with pytest.raises(InputError, match="unknown key in .datasets.own.: 'default_text'"):
        read_grid(tmp_path / "my.toml")
