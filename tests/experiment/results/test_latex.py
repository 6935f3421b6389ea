"""Tables for papers: well-formed, in the paper's layout, and accepted by LaTeX."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.experiment.conftest import cell_of
from tfcr.experiment import open_results
from tfcr.experiment.results.latex import as_latex, as_paper, latex_escape
from tfcr.experiment.results.summary import Group, summarise

FORMATS = {"latex": as_latex, "paper": as_paper}
ENGINES = {"tectonic": ("--untrusted",), "pdflatex": ("-interaction=nonstopmode", "-halt-on-error")}


def groups_of(path: Path) -> list[Group]:
    opened = open_results(path)
    cells = opened.cells()
    opened.close()
    return summarise(cells)


def of_table_2() -> list[Group]:
    """Return made-up scores of three embedding models, one of them without one dataset, and of an odd system."""
    cells = []
    for number, embedding in enumerate(("gw2v", "tw2v", "wglove")):
        for dataset in ("20ng", "semeval", "x_y & <z> 50%")[: 2 + (number != 1)]:
            cells += [
                cell_of(
                    dataset,
                    scheme,
                    [score, score + 0.02 * number, score],
                    profile="equations",
                    key=f"{embedding} {dataset} {scheme}",
                    embedding=embedding,
                    vectors=f"{embedding} 300 × 3",
                )
                for scheme, score in (("none", 0.5), ("tfcr", 0.6 + 0.1 * number))
            ]
        cells.append(
            cell_of(
                "20ng",
                "best",
                [0.9, 0.9, 0.9],
                profile="",
                key=f"best {embedding}",
                head="",
                embedding=embedding,
                vectors=f"{embedding} 300 × 3",
            )
        )
    return summarise(cells)


def test_special_characters_are_escaped() -> None:
    assert latex_escape("a_b & 5 % \\ {x}") == r"a\_b \& 5 \% \textbackslash{} \{x\}"
    assert latex_escape("~^<>±−×–“a”") == r"\textasciitilde{}\textasciicircum{}$<$$>$$\pm$$-$$\times$--``a''"


@pytest.mark.parametrize("name", FORMATS)
def test_tables_are_well_formed(name: str, finished: Path) -> None:
    for groups in (groups_of(finished), of_table_2()):
        latex = FORMATS[name](groups)
        for body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", latex, re.DOTALL):
            for row in [line for line in body[1].splitlines() if line.endswith("\\\\")]:
                spans = [int(width) - 1 for width in re.findall(r"multicolumn\{(\d+)\}", row)]
                assert row.count("&") - row.count("\\&") + sum(spans) + 1 == len(body[0]), row
        for command in ("\\toprule", "\\midrule", "\\bottomrule", "\\textbf{", "\\paragraph{Conclusion.}"):
            assert command in latex
        assert latex.count("\\begin{") == latex.count("\\end{")
        captions = re.findall(r"\\caption\{(.*)\}\n\\label\{tab:[a-z0-9-]+\}\n", latex)
        assert len(captions) == latex.count("\\begin{table}")
        assert all(re.match(r"Macro-F1 of .*\.$", caption) for caption in captions)
        assert len(set(re.findall(r"\\label\{(.*)\}", latex))) == len(captions)


def test_the_papers_layout_has_two_models_side_by_side() -> None:
    latex = as_paper(of_table_2())
    assert latex.count("\\begin{table}") == 1
    assert (
        "\\multicolumn{3}{c}{gw2v} & \\multicolumn{3}{c}{tw2v} \\\\\n\\cmidrule(lr){2-4}\\cmidrule(lr){5-7}\n" in latex
    )
    assert " & \\multicolumn{3}{c}{wglove} &  &  &  \\\\\n\\cmidrule(lr){2-4}\n" in latex
    assert "dataset & $\\emptyset$ & tfcr & best & $\\emptyset$ & tfcr & best \\\\" in latex
    assert "20ng & .500 & .600 & \\textbf{.850} & " in latex
    assert " & \\textit{.701} & \\textit{.922} &  & \\textit{.705} & \\textit{.930} &  \\\\" in latex
    assert "x\\_y \\& $<$z$>$ 50\\% & " in latex


def test_table_1_has_svm_and_logistic_regression_side_by_side() -> None:
    cells = [
        cell_of("20ng", scheme, [0.5, 0.6], key=f"{head} {scheme}", head=head, embedding="w2v", vectors="word2vec")
        for head in ("svm", "lr")
        for scheme in ("none", "tfcr")
    ]
    latex = as_paper(summarise(cells))
    assert "\\multicolumn{2}{c}{SVM} & \\multicolumn{2}{c}{logistic regression} \\\\" in latex
    assert " & \\textit{.667} & \\textit{.912} & \\textit{.607} & \\textit{.896} \\\\" in latex
    assert "\\label{tab:equations-w2v-svm-lr}" in latex


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_latex_compiles(name: str, finished: Path, tmp_path: Path) -> None:
    engine = next((engine for engine in ENGINES if shutil.which(engine)), None)
    if engine is None:
        pytest.skip(f"found none of {', '.join(ENGINES)}; to run it: apt-get install texlive-latex-base")
    tables = [FORMATS[name](groups) for groups in (groups_of(finished), of_table_2())]
    document = ["\\documentclass{article}", "\\usepackage{booktabs}", "\\begin{document}", *tables, "\\end{document}"]
    (tmp_path / "tables.tex").write_text("\n".join(document), "utf-8")
    done = subprocess.run([engine, *ENGINES[engine], "tables.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "tables.pdf").read_bytes().startswith(b"%PDF")
