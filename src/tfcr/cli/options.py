"""Options that several commands share, each declared once.

A command that takes a parameter of one of the classes here gets all of its options, through `with_options`.
"""

import inspect
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tfcr.cli.help import evaluation_option, input_option, model_option, output_option

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier
    from tfcr.cluster import DaskPlaces
    from tfcr.data import Corpus, ReadOptions
    from tfcr.data.columns import Columns
    from tfcr.data.labelled_stream import LabelledStream
    from tfcr.data.options import Table
    from tfcr.data.partly import PartlyLabelled
    from tfcr.data.writers import Style

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files ({readers}; also .gz), addresses such as https://… and s3://…, - for standard input, or a "
        "dataset's name. A folder has one folder per class, or Parquet files; a tar archive has one folder per class.",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Folder of a trained model.", show_default=False)]
Json = Annotated[bool, output_option("--json", help="Print JSON.")]
Place = Annotated[
    str | None,
    input_option(
        "--path", metavar="PATH", help="Where the files already are: a file, folder or archive. Nothing is copied."
    ),
]
Again = Annotated[bool, output_option("--again", help="Download again, even if it is on this machine.")]
Folds = Annotated[int, evaluation_option("--cv", metavar="N", help="Number of cross-validation folds.", min=2)]
MinClassSize = Annotated[
    int, evaluation_option("--min-class-size", metavar="N", help="Leave out classes with fewer documents.")
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        help="Work on a Dask cluster: the address of its scheduler, such as tcp://host:8786; or local, for one process "
        "per processor of this machine.",
        rich_help_panel="Cluster",
    ),
]
COSTS_HELP = "Three columns: the true label, the assigned one, and what that costs; all other mistakes cost 1."
OF_PRESET = "the preset's"
SCHEME_HELP = "Weighting scheme of the part vectors: {schemes}."


@dataclass(frozen=True)
class Reading:
    """How data files are read. Every command that reads texts does it through here."""

    text: Annotated[
        list[str] | None,
        input_option(
            "--text", "-t", metavar="COLUMN", help="Column with the text, by name or number; repeat to join several."
        ),
    ] = None
    label: Annotated[str | None, input_option("--label", "-l", metavar="COLUMN", help="Column with the label.")] = None
    group: Annotated[
        str | None,
        input_option("--group", metavar="COLUMN", help="Rows with the same value in this column stay in one fold."),
    ] = None
    format: Annotated[
        str | None, input_option("--format", metavar="NAME", help="One of {readers}; detected if omitted.")
    ] = None
    encoding: Annotated[
        str | None, input_option("--encoding", metavar="NAME", help="Such as latin-1; detected if omitted.")
    ] = None
    separator: Annotated[
        str | None,
        input_option(
            "--separator",
            metavar="CHARACTER",
            help="Column separator: a character, or comma, semicolon, tab, bar; detected if omitted.",
        ),
    ] = None
    quoting: Annotated[
        str | None,
        input_option(
            "--quoting",
            metavar="usual|none",
            help="Whether quotes enclose cells, or are ordinary characters (none); detected if omitted.",
        ),
    ] = None
    no_header: Annotated[bool, input_option("--no-header", help="The first line is data, not column names.")] = False
    columns: Annotated[
        int | None,
        input_option("--columns", metavar="N", help="Number of columns; the last one takes the rest of the line."),
    ] = None
    labels_from: Annotated[
        list[str] | None,
        input_option(
            "--labels-from",
            metavar="FILE",
            help="File with one label per line, for a data file with one text per line; repeat for several.",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        input_option(
            "--sheet", metavar="NAME", help="Sheet of an Excel workbook, by name or number.", show_default="the first"
        ),
    ] = None
    label_separator: Annotated[
        str | None,
        input_option(
            "--label-separator",
            metavar="TEXT",
            help="What separates several labels in one cell, such as ';'. JSON lines and Parquet have lists.",
        ),
    ] = None
    merge_labels: Annotated[
        bool,
        input_option(
            "--merge-labels",
            help="Labels that differ in case, blanks or Unicode form only are one: the most frequent spelling.",
        ),
    ] = False
    label_map: Annotated[
        str | None,
        input_option(
            "--label-map",
            metavar="FILE",
            help="Table of two columns without a header: a label, and what it becomes. Rows whose label becomes empty "
            "are left out; labels that are not in the table are kept.",
        ),
    ] = None
    bad_rows: Annotated[
        str,
        input_option(
            "--bad-rows",
            metavar="stop|skip",
            help="What to do about rows that cannot be read: stop at the first and name it, or leave them out and "
            "count them.",
        ),
    ] = "stop"
    path: Annotated[
        str | None,
        input_option(
            "--path", metavar="PATH", help="With a dataset's name: where its files are (a file, folder or archive)."
        ),
    ] = None

    def corpus(
        self,
        sources: list[str],
        training: Mapping[str, Any] | None = None,
        classes: Iterable[Any] = (),
        *,
        several: bool = False,
        time: str | None = None,
        keep_unlabelled: bool = False,
        stream: "LabelledStream | None" = None,
    ) -> "Corpus":
        """Read labelled texts, by default from the columns that a model was trained on, and report how.

        `classes` are that model's: spellings that --merge-labels prefers. `several` is whether it gives several labels.
        `time` is the column of times, if they are needed. `keep_unlabelled`: texts without a label are read too.
        `stream` are the same texts, if they were to be read in constant memory, which may be possible only once.
        """
        from dataclasses import replace

        from tfcr.cli.output import note
        from tfcr.data import load_data

        options = replace(
            self.options(training or {}, classes, several=several), time=time, keep_unlabelled=keep_unlabelled
        )
        corpus = load_data(sources, options, self.path) if stream is None else stream.corpus()
        for line in corpus.notes:
            note(line)
        return corpus

    def stream(
        self,
        sources: list[str],
        training: Mapping[str, Any] | None = None,
        classes: Iterable[Any] = (),
        *,
        several: bool = False,
    ) -> "LabelledStream":
        """Return labelled texts that are read in constant memory; the caller tells its notes. See `corpus`."""
        from tfcr.data.labelled_stream import labelled_stream

        return labelled_stream(sources, self.options(training or {}, classes, several=several), self.path)

    def partly_labelled(self, sources: list[str]) -> "PartlyLabelled":
        """Read texts of which some may have a label, and report how."""
        from tfcr.cli.output import note
        from tfcr.data.partly import load_partly_labelled

        found = load_partly_labelled(sources, self.options({}), self.path)
        for line in found.notes:
            note(line)
        return found

    def texts(self, sources: list[str]) -> list[str]:
        """Read texts whose labels do not matter, and report how."""
        from tfcr.cli.output import note
        from tfcr.data.sources import load_texts

        texts, how = load_texts(sources, self.options({}), self.path)
        note(how)
        return texts

    def pieces(self, sources: list[str], training: Mapping[str, Any]) -> "Generator[tuple[Table, Columns]]":
        """Read tables piece by piece, by default with the columns that a model was trained on."""
        from tfcr.data.sources import load_pieces

        return load_pieces(sources, self.options(training), self.path)

    def options(
        self, training: Mapping[str, Any] | None = None, classes: Iterable[Any] = (), *, several: bool = False
    ) -> "ReadOptions":
        """Return the options; `training` may name the columns that a model was trained on."""
        from tfcr.data import ReadOptions
        from tfcr.errors import InputError

        if self.quoting not in (None, "usual", "none"):
            raise InputError(
                f"found --quoting {self.quoting}; expected usual or none; leave it out to have it detected"
            )
        training = training or {}
        return ReadOptions(
            text=tuple(self.text or ()),
            label=self.label,
            group=self.group,
            format=self.format,
            encoding=self.encoding,
            separator=self.separator,
            quoting=None if self.quoting is None else self.quoting == "usual",
            header=not self.no_header,
            columns=self.columns,
            label_files=tuple(self.labels_from or ()),
            sheet=self.sheet,
            label_separator=self.label_separator,
            merge_labels=self.merge_labels,
            label_map=self.label_map,
            default_text=tuple(training.get("columns") or ()),
            default_label=training.get("label_column"),
            default_classes=tuple(classes),
            default_separator=training.get("label_separator"),
            several=several,
            bad_rows=self.bad_rows,
        )


@dataclass(frozen=True)
class Writing:
    """How delimited text is written; by default as the input is written."""

    output_encoding: Annotated[
        str | None,
        output_option(
            "--output-encoding",
            metavar="NAME",
            help="Encoding of CSV and TSV, such as utf-8, utf-8-sig (for Excel) or cp1252.",
            show_default="the input's",
        ),
    ] = None
    output_separator: Annotated[
        str | None,
        output_option(
            "--output-separator",
            metavar="CHARACTER",
            help="Column separator of CSV and TSV: a character, or comma, semicolon, tab, bar.",
            show_default="the input's",
        ),
    ] = None
    output_quoting: Annotated[
        str | None,
        output_option(
            "--output-quoting",
            metavar="NAME",
            help="Which cells of CSV and TSV are quoted: {quotings} (text: all but numbers).",
            show_default="the input's",
        ),
    ] = None
    keep_formulas: Annotated[
        bool,
        output_option(
            "--keep-formulas",
            help="Write cells of CSV and TSV that begin with =, +, - or @ as they are. By default a ' stands before "
            "those that are not numbers, so that a spreadsheet shows text and computes nothing.",
        ),
    ] = False

    def style(self, table: "Table", path: str | None, *, json: bool) -> "tuple[str, Style]":
        """Return the format to write and a style like that of the input, but for what the user wants instead."""
        from dataclasses import replace

        from tfcr.data.delimited import separator_named
        from tfcr.data.dialect import told_otherwise
        from tfcr.data.writers import style_like
        from tfcr.errors import InputError

        kind, style = style_like(table, path, json=json)
        given = [name for name in ("output_encoding", "output_separator", "output_quoting") if getattr(self, name)]
        given += ["keep_formulas"] if self.keep_formulas else []
        if style.dialect is None:
            if given:
                option = given[0].replace("_", "-")
                raise InputError(f"found --{option}, which is for CSV and TSV, and the output is {kind}; leave it out")
            return kind, style
        dialect = told_otherwise(
            style.dialect,
            encoding=self.output_encoding,
            separator=separator_named(self.output_separator) if self.output_separator else None,
            quoting=self.output_quoting,
        )
        return kind, replace(style, dialect=dialect, guard=not self.keep_formulas)


@dataclass(frozen=True)
class Training:
    """What kind of classifier is trained. An option that is not given has the value of the preset."""

    preset: Annotated[
        str,
        model_option(
            "--preset",
            metavar="NAME",
            help="One of {presets}: paper uses class-weighted vectors, fast uses words, best uses words, bigrams, "
            "character n-grams and vectors. The options of this section override it.",
        ),
    ] = "best"
    embeddings: Annotated[
        str | None,
        model_option(
            "--embeddings",
            "-e",
            metavar="VECTORS",
            help="Vector file, known name, w2v to train word2vec on these texts (as the preset paper does), or auto "
            "for the best of what is installed. ONE+TWO weights the first by class and sums both.",
            show_default="auto",
        ),
    ] = None
    parts: Annotated[
        str | None,
        model_option(
            "--parts",
            metavar="NAMES",
            help="Kinds of features, separated by commas: {parts}.",
            show_default=OF_PRESET,
        ),
    ] = None
    head: Annotated[
        str | None,
        model_option(
            "--head",
            metavar="NAME",
            help="Linear classifier: {heads}. With ridge, vectors must be the only part.",
            show_default="svm",
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        model_option("--tokenizer", metavar="NAME", help="One of {tokenizers}.", show_default=OF_PRESET),
    ] = None
    averaging: Annotated[
        str | None,
        model_option(
            "--averaging",
            metavar="NAME",
            help="What a block of vectors is divided by: {averagings}.",
            show_default="weights",
        ),
    ] = None
    blocks: Annotated[
        str | None,
        model_option(
            "--blocks",
            metavar="NAME",
            help="Blocks of vectors that each class sees: {blocks}. The paper uses all.",
            show_default=OF_PRESET,
        ),
    ] = None
    cross_fit: Annotated[
        int | None,
        model_option(
            "--cross-fit",
            metavar="N",
            help="Number of folds for cross-fitting the class weights of vectors; 0 turns it off.",
            min=0,
            show_default="0",
        ),
    ] = None
    strength: Annotated[
        float | None,
        model_option(
            "-C",
            metavar="NUMBER",
            help="Inverse regularisation strength of svm and lr; picked by cross-validation if the preset gives none.",
            show_default=OF_PRESET,
        ),
    ] = None
    class_weight: Annotated[
        str | None,
        model_option("--class-weight", metavar="balanced|none", help="Weight of classes.", show_default="balanced"),
    ] = None
    decision: Annotated[
        str | None,
        model_option(
            "--decision",
            metavar="macro-f1|probability",
            help="Pick labels by scores tuned for macro-F1, or the likeliest.",
            show_default="macro-f1 if classes are balanced",
        ),
    ] = None
    precision: Annotated[
        list[str] | None,
        model_option(
            "--precision",
            metavar="P|LABEL=P",
            help="How often labels are to be right, such as 0.95; predict calls rows unsure whose label is less "
            "probable than that takes. Repeat for single classes: --precision refund=0.98.",
            show_default="every row is decided",
        ),
    ] = None
    costs: Annotated[
        str | None,
        model_option(
            "--costs",
            metavar="FILE",
            help=f"Pick the labels of the least expected cost. {COSTS_HELP}",
            show_default="none",
        ),
    ] = None
    min_count: Annotated[
        float, model_option("--min-count", metavar="N", help="Words that occur less often get weight 0.")
    ] = 1
    dimensions: Annotated[
        int | None,
        model_option(
            "--dimensions",
            metavar="N",
            help="Length of in-domain word2vec vectors; without --embeddings, selects w2v.",
            min=1,
            show_default="100",
        ),
    ] = None
    max_memory: Annotated[
        str | None,
        model_option(
            "--max-memory",
            metavar="SIZE",
            help="Memory that training may take, such as 4GB; data that needs more is counted into shards on disk.",
            show_default="half of this machine's",
        ),
    ] = None
    seed: Annotated[int, model_option("--seed", metavar="N", help="Random seed.", min=0)] = 0

    def model(self, scheme: str | None, dataset: str) -> "TfcrClassifier":
        """Return the untrained classifier, or refuse options that contradict each other or have no effect.

        A dataset may need its own tokenizer.
        """
        from tfcr.classifier import TfcrClassifier
        from tfcr.embeddings.pretrained import AUTO, IN_DOMAIN
        from tfcr.embeddings.store import check_source, sources_of

        given = self._given(scheme, dataset)
        model = TfcrClassifier.from_preset(
            self.preset, **given, min_count=self.min_count, max_memory=self.max_memory, random_state=self.seed
        )
        model.check_parameters()
        _refuse_idle(model, given)
        for source in [] if self.embeddings in (None, AUTO) else sources_of(self.embeddings):
            if isinstance(source, str) and source != IN_DOMAIN:
                check_source(source)
        return model

    def _given(self, scheme: str | None, dataset: str) -> dict[str, Any]:
        """Return the parameters that override the preset's."""
        from tfcr.data import DATASETS
        from tfcr.embeddings.pretrained import AUTO, IN_DOMAIN
        from tfcr.errors import InputError
        from tfcr.features.parts import PARTS
        from tfcr.presets import PRESETS

        parts = None if self.parts is None else tuple(part.strip() for part in self.parts.split(","))
        asks_for_vectors = any(PARTS[part].needs_vectors for part in parts or () if part in PARTS)
        without = PRESETS.get(self.preset, {}).get("embeddings", AUTO) is None
        otherwise = IN_DOMAIN if self.dimensions else AUTO if without and asks_for_vectors else None
        given = {
            "embeddings": self.embeddings or otherwise,
            "parts": parts,
            "scheme": scheme,
            "head": self.head,
            "tokenizer": self.tokenizer or (DATASETS[dataset].tokenizer if dataset in DATASETS else None) or None,
            "averaging": self.averaging,
            "blocks": self.blocks,
            "cross_fit": self.cross_fit,
            "C": self.strength,
            "decision": self.decision,
            "precision": _parse_precision(self.precision) if self.precision else None,
            "costs": None if self.costs is None else read_costs(self.costs),
            "dimensions": self.dimensions,
        }
        parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.class_weight not in (None, "balanced", "none"):
            raise InputError(f"found --class-weight {self.class_weight}; expected balanced or none")
        if self.class_weight is not None:
            parameters["class_weight"] = None if self.class_weight == "none" else self.class_weight
        return parameters


def _parse_precision(given: Sequence[str]) -> float | dict[Any, float]:
    """Return the precision that is wanted, of all classes or of some; of a class that is named, its own."""
    from tfcr.errors import InputError

    wanted: dict[Any, float] = {}
    for text in given:
        label, equals, number = text.rpartition("=")
        key = label.strip() if equals else None
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 < value < 1:
            raise InputError(
                f"found --precision {text!r}; expected a number between 0 and 1, such as 0.95, or one for a class, "
                "such as refund=0.98"
            )
        if wanted.setdefault(key, value) != value:
            raise InputError(f"found --precision twice for {key or 'all classes'}; give it once")
    return wanted[None] if list(wanted) == [None] else wanted


def read_costs(path: str) -> "dict[tuple[str, str], float]":
    """Return the costs of a file: from a true and an assigned label to what that costs."""
    from tfcr.data.costs import read_costs as read

    return read(path)


def _refuse_idle(model: "TfcrClassifier", given: Collection[str]) -> None:
    """Refuse options that would have no effect on a classifier."""
    from tfcr.embeddings import sources_of
    from tfcr.embeddings.pretrained import IN_DOMAIN
    from tfcr.errors import InputError
    from tfcr.heads import resolve_head

    about_vectors = "dimensions", "embeddings", "scheme", "averaging", "blocks", "cross_fit"
    of_vectors = [name.replace("_", "-") for name in about_vectors if name in given]
    if of_vectors and not model.uses_vectors:
        parts = ",".join(model.parts)
        raise InputError(
            f"found --{of_vectors[0]}, which needs the part vectors, and only the parts {parts}; leave it out, or add "
            f"vectors: --parts {parts},vectors"
        )
    if "dimensions" in given and IN_DOMAIN not in sources_of(model.embeddings or ""):
        raise InputError(
            f"found --dimensions, which is for word2vec trained on your texts, and --embeddings {model.embeddings}; "
            "leave out one of them"
        )
    if "C" in given and not resolve_head(model.head, C=1.0).has_strength:
        raise InputError(f"found -C, and --head {model.head}, which picks its own strength; leave out -C")


@contextmanager
def dask_places(address: str | None) -> "Iterator[DaskPlaces | None]":
    """Give what works on a cluster, as long as it is needed; None without an address."""
    if address is None:
        yield None
        return
    from tfcr.cluster import DaskPlaces, open_client

    with open_client(address) as client:
        yield DaskPlaces(client)


def refuse_given(context: typer.Context, names: Collection[str], why: str) -> None:
    """Refuse options, by the names of their parameters, that the user gave but that have no effect here."""
    from tfcr.errors import InputError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name != "DEFAULT":
            raise InputError(f"found {parameter.opts[0]} {why}; leave it out")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a class of options by its options, for typer to see."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += (
            _options_of(groups[name])
            if name in groups
            else [parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)]
        )

    @wraps(command)
    def flat(**given: Any) -> None:
        collected = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **collected)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(f.name, kind, default=f.default, annotation=hints[f.name]) for f in fields(group)]
