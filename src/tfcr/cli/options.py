"""Options that several commands share, each declared once.

A command that takes a parameter of one of these classes gets all its options, through `with_options`.
"""

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Optional, get_type_hints

import typer

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier
    from tfcr.data import Corpus, ReadOptions

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Files (csv, tsv, jsonl, parquet, __label__ text, also .gz), a folder or tar.gz with a folder for each "
        "class, - for standard input, or a dataset's name.",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model's folder.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Place = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--path", help="Where the files are already: a file, a folder or an archive; nothing is copied."),
]
Again = Annotated[bool, typer.Option("--again", help="Download it anew, even if it is here.")]
Folds = Annotated[int, typer.Option("--cv", help="Folds of the cross-validation.", min=2)]
OF_PRESET = "the preset's"
MinClassSize = Annotated[int, typer.Option("--min-class-size", help="Leave out classes with fewer documents.")]


@dataclass(frozen=True)
class Reading:
    """How data files are read."""

    text: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads it at run time
        typer.Option("--text", "-t", help="Column that holds the text, by name or number; several are joined."),
    ] = None
    label: Annotated[
        Optional[str], typer.Option("--label", "-l", help="Column that holds the label.")  # noqa: UP045
    ] = None
    group: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--group", help="Column whose equal values stay together in cross-validation."),
    ] = None
    format: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--format", help="csv, tsv, jsonl, parquet, fasttext, lines, folder or tar; else found out."),
    ] = None
    encoding: Annotated[
        Optional[str], typer.Option("--encoding", help="As in latin-1; else found out.")  # noqa: UP045
    ] = None
    separator: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--separator", help="Between columns: a character, or comma, semicolon, tab, bar."),
    ] = None
    quoting: Annotated[str, typer.Option("--quoting", help="'none' if quotes are ordinary characters.")] = "usual"
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line is data already.")] = False
    columns: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--columns", help="There are so many columns; the last takes the rest of the line."),
    ] = None
    labels_from: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--labels-from", help="File with a label a line, one for each file of texts, a text a line."),
    ] = None
    path: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--path", help="With a dataset's name: where its files are, a file, a folder or an archive."),
    ] = None

    def options(self) -> "ReadOptions":
        """Return them for the library."""
        from tfcr.data import ReadOptions
        from tfcr.errors import InputError

        if self.quoting not in ("usual", "none"):
            raise InputError(f"found --quoting {self.quoting}; expected none, or leave it out")
        return ReadOptions(
            text=tuple(self.text or ()),
            label=self.label,
            group=self.group,
            format="lines" if self.labels_from and self.format is None else self.format,
            encoding=self.encoding,
            separator=self.separator,
            quoting=self.quoting == "usual",
            header=not self.no_header,
            columns=self.columns,
            label_files=tuple(self.labels_from or ()),
        )

    def corpus(self, sources: list[str], training: dict[str, Any] | None = None) -> "Corpus":
        """Read labelled texts, by default from the columns that a model was trained on, and tell how."""
        from tfcr.cli.output import note
        from tfcr.data import load_data

        known = training or {}
        options = replace(
            self.options(), default_text=tuple(known.get("columns") or ()), default_label=known.get("label_column")
        )
        corpus = load_data(sources, options, self.path)
        for line in corpus.notes:
            note(line)
        return corpus


@dataclass(frozen=True)
class Training:
    """What kind of classifier is trained."""

    preset: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--preset",
            help="paper (vectors weighted by class), fast (words) or best (words, pairs of words and vectors). The "
            "options below change it.",
            show_default="best; paper where a scheme is given",
        ),
    ] = None
    embeddings: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--embeddings",
            "-e",
            help="Vector file, known name, or w2v: train word2vec on these texts.",
            show_default="w2v",
        ),
    ] = None
    parts: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--parts", help="What is looked at, as in words,bigrams,vectors.", show_default=OF_PRESET),
    ] = None
    head: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--head", help="Classifier: svm, lr or ridge (vectors only).", show_default="svm"),
    ] = None
    tokenizer: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--tokenizer",
            help="words, signs (words, punctuation, single characters of Chinese and Japanese), paper, whitespace or "
            "jieba.",
            show_default=OF_PRESET,
        ),
    ] = None
    averaging: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--averaging", help="Of vectors: weights, length, sum or unit.", show_default="weights"),
    ] = None
    blocks: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--blocks", help="Of vectors: all (the paper) or own.", show_default=OF_PRESET),
    ] = None
    cross_fit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--cross-fit", help="Of vectors: folds whose weights come from the other folds.", min=0, show_default="0"
        ),
    ] = None
    strength: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option("-C", help="Inverse strength of regularisation of svm and lr.", show_default=OF_PRESET),
    ] = None
    class_weight: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--class-weight", help="balanced or none.", show_default="balanced"),
    ] = None
    min_count: Annotated[float, typer.Option("--min-count", help="Rarer words weigh nothing.")] = 1
    dimensions: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--dimensions", help="Of word2vec, where trained.", min=1, show_default="100"),
    ] = None
    max_memory: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--max-memory", help="What training features may take, as in 4GB.", show_default="half of the machine's"
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Of all randomness.", min=0)] = 0

    def model(self, scheme: str | None, dataset: str) -> "TfcrClassifier":
        """Return the classifier, not yet trained, or refuse what cannot be or would have no effect.

        A scheme by itself means the paper's method; a dataset may have a tokenizer of its own.
        """
        from tfcr.classifier import TfcrClassifier
        from tfcr.embeddings.pretrained import IN_DOMAIN
        from tfcr.embeddings.store import check_source

        given = self._given(scheme, dataset)
        model = TfcrClassifier.from_preset(
            self.preset or ("paper" if scheme else "best"),
            **given,
            min_count=self.min_count,
            max_memory=self.max_memory,
            random_state=self.seed,
        )
        model.check_parameters()
        _refuse_idle(model, given)
        if self.embeddings not in (None, IN_DOMAIN):
            check_source(self.embeddings)
        return model

    def _given(self, scheme: str | None, dataset: str) -> dict[str, Any]:
        """Return the parameters that change the preset's."""
        from tfcr.data import DATASETS
        from tfcr.embeddings.pretrained import IN_DOMAIN

        parts = None if self.parts is None else tuple(part.strip() for part in self.parts.split(","))
        asks_for_vectors = parts is not None and "vectors" in parts  # of a preset without, perhaps
        given = {
            "embeddings": IN_DOMAIN if self.embeddings is None and asks_for_vectors else self.embeddings,
            "parts": parts,
            "scheme": scheme,
            "head": self.head,
            "tokenizer": self.tokenizer or (DATASETS[dataset].tokenizer if dataset in DATASETS else None) or None,
            "averaging": self.averaging,
            "blocks": self.blocks,
            "cross_fit": self.cross_fit,
            "C": self.strength,
            "dimensions": self.dimensions,
        }
        parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.class_weight is not None:
            parameters["class_weight"] = None if self.class_weight == "none" else self.class_weight
        return parameters


def _refuse_idle(model: "TfcrClassifier", given: Collection[str]) -> None:
    """Refuse options that would have no effect on a classifier."""
    from tfcr.embeddings.pretrained import IN_DOMAIN
    from tfcr.errors import InputError

    about_vectors = "embeddings", "scheme", "averaging", "blocks", "cross_fit", "dimensions"
    of_vectors = [name.replace("_", "-") for name in about_vectors if name in given]
    if of_vectors and "vectors" not in model.parts:
        parts = ",".join(model.parts)
        raise InputError(
            f"found --{of_vectors[0]}, which is about vectors, and only {parts} to look at; leave it out, or add them: "
            f"--parts {parts},vectors"
        )
    if "dimensions" in given and model.embeddings != IN_DOMAIN:
        raise InputError(
            f"found --dimensions, which is about word2vec trained on your texts, and --embeddings {model.embeddings}; "
            "leave out one of them"
        )
    if "C" in given and model.head == "ridge":
        raise InputError("found -C, and --head ridge, which picks its strength by itself; leave out -C")


def refuse_given(context: typer.Context, names: Collection[str], why: str) -> None:
    """Refuse options, by the names of their parameters, that have no effect here, if they were given."""
    from tfcr.errors import InputError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name != "DEFAULT":
            raise InputError(f"found {parameter.opts[0]} {why}; leave it out")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Spread each parameter that is a class of options into its options, for typer to see."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in groups
    ]
    for group in groups.values():
        group_hints = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=group_hints[field.name],
            )
            for field in fields(group)
        ]

    @wraps(command)
    def spread(**given: Any) -> None:
        collected = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **collected)

    spread.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread
