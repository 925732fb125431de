"""A bundle's README: what the model is, what it was made from, how good it is."""

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.languages import list_languages
from export.model import ModelConfig
from export.original import Original
from export.trained import KIND

_CARD = """\
# {name}

Translates {languages}. {architecture}

| | |
|---|---|
| precision | {precision} |
| licence | {licence} |
| longest segment | {max_source_tokens} source tokens; longer ones are split, never cut |

{origin}

## Quality

sacreBLEU and chrF, beam 4.

{scores}

## Known limits

{limits}
"""


def architecture_line(config: ModelConfig) -> str:
    """The shape in one sentence."""
    vocabulary = "shared" if config.shared_vocab else "separate"
    past = "" if config.autoregression == "attention" else f", {config.autoregression.upper()} decoder"
    return (
        f"A {config.norm}-norm Transformer with {config.encoder_layers} encoder and {config.decoder_layers} "
        f"decoder layers{past}, d_model {config.d_model}, {config.heads} heads, ffn {config.ffn}, "
        f"{config.activation}, {vocabulary} vocabulary of {config.target_vocab_size} pieces."
    )


def render_card(fields: Mapping[str, str], original: Original, scores: Mapping[str, Any]) -> str:
    """The card as Markdown.

    Args:
        fields: name, precision, licence, max_source_tokens, limits.
        original: the model.
        scores: by test set, each with `bleu` and `chrf`.
    """
    languages = original.languages
    return _CARD.format(
        **fields,
        languages=f"{list_languages(languages.sources)} to {list_languages(languages.targets)}",
        architecture=architecture_line(original.model.config),
        origin=_training(original.origin) if original.kind == KIND else _imported(original),
        scores=_score_table(scores),
    )


def _training(training: Mapping[str, Any]) -> str:
    data, runs = _each_run(training, _data_table), _each_run(training, _training_table)
    return f"## Training data\n\n{data}\n\n## Training\n\n{runs}"


def _imported(original: Original) -> str:
    rows = [f"| {key} | {_cell(value)} |" for key, value in original.origin.items()]
    return "\n".join(["## Origin", "", f"Imported: {original.kind}.", "", "| | |", "|---|---|", *rows])


def _cell(value: object) -> str:
    """One line, with no bar that would end the cell."""
    return str(value).replace("\n", " ").replace("|", "\\|")


def _runs(training: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The record and those it started from, the first run first."""
    earlier = training.get("started_from")
    return [*([] if earlier is None else _runs(earlier)), training]


def _each_run(training: Mapping[str, Any], table: Callable[[Mapping[str, Any]], str]) -> str:
    runs = _runs(training)
    if len(runs) == 1:
        return table(training)
    return "\n\n".join(f"Run {number}:\n\n{table(run)}" for number, run in enumerate(runs, start=1))


def _data_table(training: Mapping[str, Any]) -> str:
    corpora = training.get("data", [])
    if not corpora:
        return "Not recorded."
    total = sum(corpus["weight"] for corpus in corpora)
    rows = [f"| {c['name']} | {c['weight'] / total:.0%} | {c['licence']} |" for c in corpora]
    return "\n".join(["| corpus | share of the pairs seen | licence |", "|---|---|---|", *rows])


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
    rows = [f"| {label} | {training[key]} |" for key, label in names.items() if key in training]
    return "\n".join(["| | |", "|---|---|", *rows]) if rows else "Not recorded."


def _score_table(scores: Mapping[str, Any]) -> str:
    if not scores:
        return "Not measured."
    rows = [f"| {name} | {score['bleu']:.1f} | {score['chrf']:.1f} |" for name, score in scores.items()]
    return "\n".join(["| test set | BLEU | chrF |", "|---|---|---|", *rows])
