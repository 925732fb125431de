"""Tables of the README and of docs/reports/serving.md: `python -m bench.tables` prints them."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from export.markdown import table

RESULTS = Path(__file__).parent / "results"


def quality_table(cards: Sequence[Mapping[str, Any]]) -> str:
    """Render BLEU and chrF by model and test set: as shipped, greedy and beam 4, and fp32 weights."""
    rows = [
        (card["provenance"]["bundle"], name, *_scores(scores["variants"]))
        for card in cards
        for name, scores in card["scores"].items()
    ]
    head = (
        "model",
        "test set",
        "BLEU, greedy",
        "beam 4",
        "fp32, beam 4",
        "chrF, greedy",
        "beam 4",
        "fp32, beam 4",
    )
    return table(head, rows)


def _scores(variants: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the scores of a row; `variants` has the fp32 weights first and the shipped bundle last."""
    greedy, beam = ([each for each in variants if each["beam_size"] == size] for size in (1, 4))
    shown = (greedy[-1], beam[-1], beam[0])
    return [f"{each[metric]:.2f}" for metric in ("bleu", "chrf") for each in shown]


def throughput_table(result: dict[str, Any]) -> str:
    """Render sentences per second by sentences per call, beam and number of callers."""
    rates = {
        (row["setting"]["batch"], row["setting"]["beam_size"], row["setting"]["callers"]): row[
            "median_sentences_per_s"
        ]
        for row in result["results"]
    }
    callers = sorted({key[2] for key in rates})
    head = ["sentences a call", "beam", *(f"{number} caller{'s' * (number > 1)}" for number in callers)]
    rows = (
        (*setting, *(f"{rates[*setting, number]:.0f}" for number in callers))
        for setting in sorted({key[:2] for key in rates})
    )
    return table(head, rows)


def load_table(result: dict[str, Any]) -> str:
    """Render throughput and latency of closed-loop clients."""
    lines = ["| clients | sentences/s | median ms | p99 ms |", "|---|---|---|---|"]
    lines += [
        f"| {row['clients']} | {row['sentences_per_s']:.0f} | {row['median_latency_s'] * 1000:.0f} "
        f"| {row['p99_latency_s'] * 1000:.0f} |"
        for row in result["results"]
    ]
    return "\n".join(lines)


def all_tables() -> list[str]:
    """Render the table of the README, and those of docs/reports/serving.md in their order."""
    return [
        quality_table([_read("card-de-en.json"), _read("card-en-de.json")]),
        throughput_table(_read("throughput.json")),
        load_table(_read("load.json")),
    ]


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf8"))
    return content


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(all_tables()) + "\n")
