"""Model card (README) of a bundle: description, quick start, quality, and origin or training."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.languages import SourceLanguage, find_language, list_languages
from dragoman.manifest import Manifest
from dragoman.shortlist import SHORTLIST_FILE
from dragoman.types import Pair
from export.bundle import KIND_FIELD, SHAPE_FIELD
from export.confidence_fit import ORIGIN_FIELD as CONFIDENCE_FIELD
from export.markdown import cell, table
from export.samples import BUILT_IN
from export.shortlist.install import ORIGIN_FIELD as SHORTLIST_FIELD

PLACEHOLDER_SENTENCE = "..."
"""Placeholder for a sentence in a language without a built-in one."""


def quick_start(manifest: Manifest) -> str:
    """Return Markdown: a shell command and Python that translate a sentence with a bundle in models/."""
    pair = next(manifest.languages.pairs())
    sentence = _sentence(pair, manifest.languages.sources)
    folder = f"models/{manifest.name}"
    command = f"echo {shlex.quote(sentence)} | dragoman translate --model {shlex.quote(folder)}"
    names, pair_argument = "Translator", ""
    if not manifest.languages.is_single_pair:
        command += f" --source {pair.source} --target {pair.target}"
        names, pair_argument = (
            "Pair, Translator",
            f", pair=Pair({_quoted(pair.source)}, {_quoted(pair.target)})",
        )
    return "\n".join(
        [
            "```sh",
            command,
            "```",
            "",
            "```python",
            f"from dragoman import {names}",
            "",
            f"translator = Translator.open({_quoted(folder)})",
            f"print(translator.translate({_quoted(sentence)}{pair_argument}).text)",
            "```",
        ]
    )


def _sentence(pair: Pair, sources: Mapping[str, SourceLanguage]) -> str:
    for path in sorted(BUILT_IN.glob("*.txt")):
        if find_language(path.stem, sources) == pair.source:
            return path.read_text(encoding="utf8").splitlines()[0]
    return PLACEHOLDER_SENTENCE


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


TRAINING_TOOL = "dragoman training"
"""Name of our training tool in a checkpoint's `origin`."""
EXPORT_FIELDS = frozenset({KIND_FIELD, SHAPE_FIELD, SHORTLIST_FIELD, CONFIDENCE_FIELD})
"""Fields of `origin` that the export added to what the model's own files say."""
VARIANTS_FIELD = "variants"
"""Field of a test set's scores that lists those of each measured precision and search."""
NO_LIMITS = "No known limits were written down for this model."
OWN_TERMS = "The licence above is that of the weights. The texts keep their own:"
GREEDY = 1
NOT_MEASURED = "-"

_LIMITS_HEADING = "\n## Known limits\n\n"
_CARD = """\
# {name}

Translates {languages}. {architecture}

{facts}

## Quick start

{start}

## Quality

{quality}

{extra_sections}{origin}
"""


@dataclass(frozen=True, slots=True)
class CardSection:
    """Section of a card: a second-level heading and the Markdown below it."""

    heading: str
    content: str


def render_card(manifest: Manifest, known_limits: str, extra_sections: Sequence[CardSection] = ()) -> str:
    """Return the card as Markdown.

    Args:
        manifest: manifest of the bundle.
        known_limits: Markdown; placed last, so that `read_known_limits` can find it.
        extra_sections: further measurements, in order; they follow the quality.
    """
    languages = manifest.languages
    card = _CARD.format(
        name=cell(manifest.name),
        languages=cell(f"{list_languages(languages.sources)} to {list_languages(languages.targets)}"),
        architecture=architecture_line(manifest),
        facts=table(("", ""), _facts(manifest)),
        start=quick_start(manifest),
        quality=score_table(manifest.scores),
        extra_sections="".join(
            f"## {section.heading}\n\n{section.content}\n\n" for section in extra_sections
        ),
        origin=_training(manifest.origin)
        if manifest.origin.get("tool") == TRAINING_TOOL
        else _imported(manifest),
    )
    return f"{card}{_LIMITS_HEADING}{known_limits.strip()}\n"


def read_known_limits(card: str) -> str | None:
    """Return the known limits in a card as Markdown; None if it has no such section."""
    _, heading, limits = card.partition(_LIMITS_HEADING)
    return limits.strip() if heading else None


def architecture_line(manifest: Manifest) -> str:
    """Return the shape in one sentence; only the sizes in the manifest if `origin` has no shape."""
    shape, sizes = manifest.origin.get(SHAPE_FIELD), manifest.sizes
    past = "" if manifest.autoregression == "attention" else f", {manifest.autoregression.upper()} decoder"
    if shape is None:
        width = sizes.model_width
        return (
            f"A Transformer with {sizes.decoder_layers} decoder layers{past}, d_model {width}, {sizes.heads} "
            f"heads, vocabulary of {sizes.target_vocab} pieces."
        )
    vocabulary = "shared" if shape["shared_vocab"] else "separate"
    if shape.get("architecture") == "bahdanau":
        return (
            f"A recurrent model with additive attention (Bahdanau et al. 2015), d_model {shape['d_model']}, "
            f"{vocabulary} vocabulary of {sizes.target_vocab} pieces."
        )
    positions = ", relative positions" if shape.get("positions") == "relative" else ""
    activation = ("gated " if shape.get("gated_ffn") else "") + shape["activation"]
    return (
        f"A {shape['norm']}-norm Transformer with {shape['encoder_layers']} encoder and "
        f"{shape['decoder_layers']} decoder layers{past}, d_model {shape['d_model']}, {shape['heads']} "
        f"heads{positions}, ffn {shape['ffn']}, {activation}, {vocabulary} vocabulary of "
        f"{sizes.target_vocab} pieces."
    )


def training_runs(origin: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the records of a training and of those it started from, the first run first."""
    earlier = origin.get("started_from")
    return [*([] if earlier is None else training_runs(earlier)), origin]


def score_table(scores: Mapping[str, Any]) -> str:
    """Return a table of the manifest's `scores`, with all variants if they are listed."""
    if not scores:
        return "Not measured."
    if all(VARIANTS_FIELD in score for score in scores.values()):
        return _variants_table(scores)
    rows = [(name, f"{score['bleu']:.1f}", f"{score['chrf']:.1f}") for name, score in scores.items()]
    return "sacreBLEU and chrF, beam 4.\n\n" + table(("test set", "BLEU", "chrF"), rows)


def variant_name(variant: Mapping[str, Any]) -> str:
    """Return the name of a variant, such as `int8` or `int8, shortlist`."""
    return f"{variant['precision']}{', shortlist' * variant['shortlist']}"


def search_name(beam_size: int) -> str:
    return "greedy" if beam_size == GREEDY else f"beam {beam_size}"


def _variants_table(scores: Mapping[str, Any]) -> str:
    """Return a row per test set and search: BLEU and chrF of each variant, and the change first to last."""
    names = list(
        dict.fromkeys(variant_name(one) for score in scores.values() for one in score[VARIANTS_FIELD])
    )
    change = ["change"] if len(names) > 1 else []
    head = ["test set", "lines", "search"]
    head += [cell(f"{metric} {name}") for metric in ("BLEU", "chrF") for name in (*names, *change)]
    rows = [
        (name, score["lines"], search_name(beam_size), *_values(score[VARIANTS_FIELD], names, beam_size))
        for name, score in scores.items()
        for beam_size in dict.fromkeys(one["beam_size"] for one in score[VARIANTS_FIELD])
    ]
    explanation = f"*Change* is from {cell(names[0])} to {cell(names[-1])}. " if change else ""
    return f"{table(head, rows)}\n\n{explanation}sacreBLEU's signatures: {_signatures(scores)}."


def _values(variants: Sequence[Mapping[str, Any]], names: Sequence[str], beam_size: int) -> list[str]:
    """Return the cells of one test set and search."""
    found = {variant_name(one): one for one in variants if one["beam_size"] == beam_size}
    cells = []
    for metric in ("bleu", "chrf"):
        values = [found[name][metric] if name in found else None for name in names]
        cells += [NOT_MEASURED if value is None else f"{value:.2f}" for value in values]
        if len(names) > 1:
            first, last = values[0], values[-1]
            cells.append(NOT_MEASURED if first is None or last is None else f"{last - first:+.2f}")
    return cells


def _signatures(scores: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{label} {', '.join(f'`{one}`' for one in dict.fromkeys(score[field] for score in scores.values()))}"
        for label, field in (("BLEU", "bleu_signature"), ("chrF", "chrf_signature"))
    )


def _facts(manifest: Manifest) -> list[tuple[str, object]]:
    shortlist = ", with a shortlist" if SHORTLIST_FILE in manifest.files else ""
    longest = f"{manifest.limits.max_source_tokens} source tokens; longer ones are split, never cut"
    return [
        ("precision", f"{manifest.precision}{shortlist}"),
        ("licence", manifest.licence),
        ("longest segment", longest),
    ]


def _training(training: Mapping[str, Any]) -> str:
    data, runs = _render_runs(training, _data_table), _render_runs(training, _training_table)
    return f"## Training data\n\n{OWN_TERMS}\n\n{data}\n\n## Training\n\n{runs}"


def _imported(manifest: Manifest) -> str:
    origin = manifest.origin
    rows = [(key, value) for key, value in origin.items() if key not in EXPORT_FIELDS]
    kind = cell(origin.get(KIND_FIELD, origin.get("tool", "from elsewhere")))
    return f"## Origin\n\nImported: {kind}.\n\n{table(('', ''), rows)}"


def _render_runs(training: Mapping[str, Any], show: Callable[[Mapping[str, Any]], str]) -> str:
    runs = training_runs(training)
    if len(runs) == 1:
        return show(training)
    return "\n\n".join(f"Run {number}:\n\n{show(run)}" for number, run in enumerate(runs, start=1))


def _data_table(training: Mapping[str, Any]) -> str:
    corpora = training.get("data", [])
    if not corpora:
        return "Not recorded."
    total = sum(corpus["weight"] for corpus in corpora)
    rows = [(c["name"], f"{c['weight'] / total:.0%}", c["licence"]) for c in corpora]
    return table(("corpus", "share of the pairs seen", "licence"), rows)


def _training_table(training: Mapping[str, Any]) -> str:
    names = {
        "steps": "steps",
        "pairs_seen": "pairs seen",
        "target_tokens_seen": "target tokens seen",
        "train_hours": "hours",
        "machine": "machine",
        "averaged_snapshots": "averaged snapshots",
        "note": "note",
    }
    rows = [(label, _plain(training[key])) for key, label in names.items() if key in training]
    return table(("", ""), rows) if rows else "Not recorded."


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
