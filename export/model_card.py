"""A bundle's README: what the model is, what it was made from, how good it is."""

from collections.abc import Callable, Mapping
from typing import Any

from export.model import ModelConfig

_CARD = """\
# {name}

Translates {source} to {target}. {architecture}

| | |
|---|---|
| precision | {precision} |
| licence | {licence} |
| longest segment | {max_source_tokens} source tokens; longer ones are split, never cut |

## Training data

{data}

## Training

{training}

## Quality

sacreBLEU and chrF, beam 4.

{scores}

## Known limits

{limits}
"""


def architecture_line(config: ModelConfig) -> str:
    """The shape in one sentence."""
    vocabulary = "shared" if config.shared_vocab else "separate"
    return (
        f"A {config.norm}-norm Transformer with {config.encoder_layers} encoder and {config.decoder_layers} "
        f"decoder layers, d_model {config.d_model}, {config.heads} heads, ffn {config.ffn}, "
        f"{config.activation}, {vocabulary} vocabulary of {config.target_vocab_size} pieces."
    )


def render_model_card(
    fields: Mapping[str, str], training: Mapping[str, Any], scores: Mapping[str, Any]
) -> str:
    """The card as Markdown.

    Args:
        fields: name, source, target, architecture, precision, licence, max_source_tokens, limits.
        training: the checkpoint's record.
        scores: by test set, each with `bleu` and `chrf`.
    """
    return _CARD.format(
        **fields,
        data=_each_run(training, _data_table),
        training=_each_run(training, _training_table),
        scores=_score_table(scores),
    )


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
