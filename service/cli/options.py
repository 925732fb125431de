"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.types import Formality
from service.formats.review_marks import ReviewMarks
from service.text.options import PlaceholderMode

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="DIR|NAME[,...]",
        help="Folder of a bundle, or its name in the models folder. Default: all bundles in that folder.",
    ),
]
ProvidersOption = Annotated[
    str | None,
    typer.Option(
        "--providers",
        metavar="NAME[,NAME...]",
        help="Hardware to run on: cpu, cuda or tensorrt; the most preferred first.",
    ),
]
KernelsOption = Annotated[
    str | None,
    typer.Option(
        "--kernels",
        metavar="auto|onnxruntime|native",
        help="What computes the model: onnxruntime, the engine's own kernels (native), or these wherever "
        "they can (auto). Default: auto.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="TOML file with settings; options and environment variables override it.",
    ),
]
BeamSizeOption = Annotated[
    int | None, typer.Option(help="Hypotheses kept at each step; 1 is greedy search. Default: the model's.")
]
LengthPenaltyOption = Annotated[
    float | None, typer.Option(help="Higher values favour longer translations. Default: the model's.")
]
MaxLengthOption = Annotated[int | None, typer.Option(help="Maximum target tokens of a segment.")]
ShortlistOption = Annotated[
    bool,
    typer.Option(
        "--shortlist/--no-shortlist", help="Compute only target tokens that the source makes likely."
    ),
]
FormalityOption = Annotated[
    Formality | None,
    typer.Option(
        help="How to address people, if the model knows forms of address. Default: the model's choice."
    ),
]
PlaceholdersOption = Annotated[
    PlaceholderMode,
    typer.Option(
        help="auto: keep placeholders such as {name}, addresses, paths and code intact; off: leave them to "
        "the model."
    ),
]
ReviewOption = Annotated[
    ReviewMarks,
    typer.Option(
        help="Marks of translations for reviewers, in po, xliff and tmx: mark is the state and the author, "
        "confidence also the confidence; off writes none."
    ),
]
GlossaryOption = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE", help="CSV, TSV or TBX file of terms with their translations."),
]
TermOption = Annotated[
    list[str] | None,
    typer.Option(
        "--term",
        metavar="SOURCE=TARGET",
        help="A term with its translation, or without `=TARGET` words to keep; may be repeated.",
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source",
        "-s",
        metavar="LANGUAGE",
        help="Language of the text, such as de. Default: detected if several are possible; `auto`: detected.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="LANGUAGE",
        help="Language to translate into. Default: the only possible one.",
    ),
]
TextArgument = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="The text, in quotes. Default: stdin, as with -.")
]
FileOption = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="UTF-8 text file to read instead of a TEXT."),
]


def new_command() -> typer.Typer:
    """Return an app for a single command, whose help is plain text."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def new_command_group(name: str, description: str, *, completes: bool = False) -> typer.Typer:
    """Return an empty group of commands, whose help is plain text.

    Args:
        name: name of the group.
        description: first sentence of its help.
        completes: whether it has Typer's options that complete its commands in a shell.
    """
    return typer.Typer(
        name=name,
        help=description,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},  # commands of the group inherit them
        add_completion=completes,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
