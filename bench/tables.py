"""Figures for people, made of bench/results: `python -m bench.tables` prints what the README shows."""

import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def quality_table(shipped: dict[str, Any], int8: dict[str, Any], fp32: dict[str, Any]) -> str:
    """BLEU and chrF by test set and beam: as shipped, without the shortlist, and with weights as trained."""
    others = [{(row["test_set"], row["beam_size"]): row for row in each["results"]} for each in (int8, fp32)]
    lines = [
        (
            "| test set | beam | BLEU as shipped | without shortlist | fp32 | chrF as shipped "
            "| without shortlist | fp32 |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in shipped["results"]:
        rows = [row, *(other[row["test_set"], row["beam_size"]] for other in others)]
        bleu, chrf = (" | ".join(f"{each[metric]:.2f}" for each in rows) for metric in ("bleu", "chrf"))
        lines.append(f"| {row['test_set']} | {row['beam_size']} | {bleu} | {chrf} |")
    return "\n".join(lines)


def throughput_table(result: dict[str, Any]) -> str:
    """Sentences a second by sentences of a call, beam and callers."""
    rates = {
        (row["setting"]["batch"], row["setting"]["beam_size"], row["setting"]["callers"]): row[
            "median_sentences_per_s"
        ]
        for row in result["results"]
    }
    callers = sorted({key[2] for key in rates})
    lines = [
        "| sentences a call | beam | "
        + " | ".join(f"{number} caller{'s' * (number > 1)}" for number in callers)
        + " |",
        "|---|---|" + "---|" * len(callers),
    ]
    for batch, beam_size in sorted({key[:2] for key in rates}):
        cells = " | ".join(f"{rates[batch, beam_size, number]:.0f}" for number in callers)
        lines.append(f"| {batch} | {beam_size} | {cells} |")
    return "\n".join(lines)


def load_table(result: dict[str, Any]) -> str:
    """What closed-loop clients saw."""
    lines = ["| clients | sentences/s | median ms | p99 ms |", "|---|---|---|---|"]
    lines += [
        f"| {row['clients']} | {row['sentences_per_s']:.0f} | {row['median_latency_s'] * 1000:.0f} "
        f"| {row['p99_latency_s'] * 1000:.0f} |"
        for row in result["results"]
    ]
    return "\n".join(lines)


def all_tables() -> list[str]:
    """Every table of the README, in its order."""
    return [
        quality_table(
            _read("quality-shortlist.json"), _read("quality-int8.json"), _read("quality-fp32.json")
        ),
        throughput_table(_read("throughput.json")),
        load_table(_read("load.json")),
    ]


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf8"))
    return content


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(all_tables()) + "\n")
