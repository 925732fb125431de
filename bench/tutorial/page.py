"""Tables of docs/reports/experiments.md about the tutorial's Transformer; `bench.page` writes them."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.experiments import with_range
from bench.tables import Result, origin_line, table

EXACT = "exact"
TEXT_ARMS = ("pieces", "case", "pieces-case")
"""Arms that differ in what a text is to the model."""
TRAINER = "this project's trainer"
"""Name of the bundle of a second run of this project's trainer, if it was scored."""


def arms_table(result: Result) -> str:
    """Render the published scores, and a row for each arm that has a finished run."""
    published, rows = result["published"], []
    exact = _scores(result, EXACT, "loss")
    for arm in result["arms"]:
        runs = _runs(result, arm["name"])
        if not runs:
            continue
        bleu = {choice: _scores(result, arm["name"], choice) for choice in ("loss", "last", "bleu")}
        losses = [min(epoch["dev_loss"] for epoch in run["epochs"]) for run in runs]
        rows.append(
            {
                "label": arm["label"],
                "seeds": len(runs),
                **{choice: with_range(values) for choice, values in bleu.items()},
                "change": _change(bleu["loss"], exact) if arm["name"] != EXACT else "",
                "epoch": ", ".join(str(run["scores"]["loss"]["epoch"]) for run in runs),
                "dev_loss": f"{statistics.fmean(losses):.2f}" if arm["units"] == "words" else "",
                "millions": f"{runs[0]['parameters'] / 1e6:.2f}",
                "minutes": f"{statistics.fmean(run['cpu_minutes'] for run in runs):.0f}",
            }
        )
    first = {
        **dict.fromkeys(("last", "bleu", "change", "minutes"), ""),
        "label": "as published",
        "seeds": 1,
        "loss": f"{published['bleu']:.2f}",
        "epoch": str(published["dev_losses"].index(min(published["dev_losses"])) + 1),
        "dev_loss": f"{min(published['dev_losses']):.2f}",
        "millions": f"{published['parameters'] / 1e6:.2f}",
    }
    return table(
        "arm | seeds | BLEU, epoch of the lowest loss | against the recipe | BLEU, last epoch"
        " | BLEU, epoch of the highest BLEU | epoch of the lowest loss | that loss, nats a word"
        " | parameters, millions | minutes of one core",
        "{label} | {seeds} | {loss} | {change} | {last} | {bleu} | {epoch} | {dev_loss}"
        " | {millions} | {minutes}",
        [first, *rows],
    )


def gap_table(result: Result) -> str:
    """Render the steps from the published score to the one of this project's trainer, mean of the seeds."""
    again = [
        one["sacrebleu_lower"]
        for one in result["bundles"]
        if (one["name"], one["search"]) == (TRAINER, "greedy")
    ]
    steps = {
        "published": [result["published"]["bleu"]],
        "the same recipe here": _scores(result, EXACT, "loss"),
        "pieces instead of words": _scores(result, "pieces", "loss"),
        "and with case": _scores(result, "pieces-case", "loss"),
        "and the last epoch, not that of the lowest loss": _scores(result, "pieces-case", "last"),
        "and sacreBLEU of text, not BLEU of words": _scores(result, "pieces-case", "last", "sacrebleu_lower"),
        "and embeddings, batches and moments": _scores(result, "trainer", "last", "sacrebleu_lower"),
        f"{TRAINER}, by the same metric": [result["trainer"]["sacrebleu_lower"], *again],
    }
    rows: list[dict[str, str]] = []
    before: float | None = None
    for label, scores in steps.items():
        if not scores:
            rows.append({"label": label, "bleu": "not measured yet", "change": ""})
            before = None
            continue
        mean = statistics.fmean(scores)
        change = "" if before is None else f"{mean - before:+.1f}"
        rows.append({"label": label, "bleu": f"{mean:.1f}", "change": change})
        before = mean
    return table("step | BLEU, lower case, greedy | change", "{label} | {bleu} | {change}", rows)


def metrics_table(result: Result) -> str:
    """Render the scores of the same translations by several metrics, where there is text to score."""
    rows = []
    for arm in result["arms"]:
        runs = [run["scores"]["loss"] for run in _runs(result, arm["name"]) if arm["units"] == "pieces"]
        if runs:
            rows.append({"label": arm["label"], "search": "greedy", "scores": runs})
    rows += [{"label": one["name"], "search": one["search"], "scores": [one]} for one in result["bundles"]]
    metrics = ("bleu", "bleu_cased", "sacrebleu_lower", "sacrebleu")
    return table(
        "model | search | words, lower case (the tutorial's) | words, with case | sacreBLEU, lower case"
        " | sacreBLEU",
        "{label} | {search} | " + " | ".join(f"{{{metric}}}" for metric in metrics),
        [{**row, **{metric: _mean(row["scores"], metric) for metric in metrics}} for row in rows],
    )


def epochs_table(result: Result) -> str:
    """Render the loss of the development set after each epoch, of all runs, also of unfinished ones."""
    labels = {arm["name"]: arm["label"] for arm in result["arms"]}
    losses = [f"{loss:.2f}" for loss in result["published"]["dev_losses"]]
    rows = [{"label": "as published", "seed": "", "cells": losses}]
    for run in [*result["runs"], *result["unfinished"]]:
        found = [f"{epoch['dev_loss']:.2f}" for epoch in run["epochs"]]
        found += [""] * (len(losses) - len(found))
        rows.append({"label": labels[run["arm"]], "seed": run["seed"], "cells": found})
    heads = " | ".join(str(number + 1) for number in range(len(losses)))
    cells = " | ".join(f"{{cells[{number}]}}" for number in range(len(losses)))
    return table(f"loss after epoch | seed | {heads}", f"{{label}} | {{seed}} | {cells}", rows)


def answers(result: Result) -> str:
    """Say in words what pieces and case are worth, and what other training is worth."""
    others = [arm["name"] for arm in result["arms"] if arm["name"] not in (EXACT, *TEXT_ARMS)]
    lines = [
        "- **What do pieces and case cost or give on so little text?** Against words in lower case: "
        + _changes_in_words(result, TEXT_ARMS),
        "- **What does other training give the same model?** Against the tutorial's recipe: "
        + _changes_in_words(result, others),
    ]
    unknown = [run["scores"]["loss"]["unknown"] for run in _runs(result, EXACT)]
    if unknown:
        lines[0] += (
            f" The recipe's model writes `<unk>` {statistics.fmean(unknown):.0f} times in the test set; one"
            " of pieces never does, and spells names that it has not seen."
        )
    return "\n".join(lines)


TABLES: Mapping[str, Callable[[Result], str]] = {
    "tutorial-arms": arms_table,
    "tutorial-gap": gap_table,
    "tutorial-metrics": metrics_table,
    "tutorial-answers": answers,
    "tutorial-epochs": epochs_table,
    "tutorial-origin": origin_line,
}


def _runs(result: Result, arm: str) -> list[Result]:
    return [run for run in result["runs"] if run["arm"] == arm]


def _scores(result: Result, arm: str, choice: str, metric: str = "bleu") -> list[float]:
    return [run["scores"][choice][metric] for run in _runs(result, arm)]


def _change(scores: Sequence[float], exact: Sequence[float]) -> str:
    return f"{statistics.fmean(scores) - statistics.fmean(exact):+.1f}" if exact else ""


def _changes_in_words(result: Result, names: Sequence[str]) -> str:
    labels = {arm["name"]: arm["label"] for arm in result["arms"]}
    exact = _scores(result, EXACT, "loss")
    measured = {name: _scores(result, name, "loss") for name in names if exact and _runs(result, name)}
    changes = [
        f"{labels[name]} {_change(scores, exact)} BLEU, {with_range(scores)} against {with_range(exact)}"
        for name, scores in measured.items()
    ]
    missing = [labels[name] for name in names if name in labels and name not in measured]
    sentences = ["; ".join(changes), f"not measured yet: {', '.join(missing)}" if missing else ""]
    return "; ".join(filter(None, sentences)) + "."


def _mean(scores: Sequence[Mapping[str, Any]], metric: str) -> str:
    found = [score[metric] for score in scores if metric in score]
    return f"{statistics.fmean(found):.1f}" if found else ""
