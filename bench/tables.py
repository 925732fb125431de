"""Figures for people, made of bench/results: `python -m bench.tables` prints what the README shows."""

import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def quality_table(int8: dict[str, Any], fp32: dict[str, Any]) -> str:
    """BLEU and chrF by test set and beam, int8 beside fp32."""
    exact = {(row["test_set"], row["beam_size"]): row for row in fp32["results"]}
    lines = [
        "| test set | beam | BLEU int8 | BLEU fp32 | chrF int8 | chrF fp32 |",
        "|---|---|---|---|---|---|",
    ]
    for row in int8["results"]:
        other = exact[row["test_set"], row["beam_size"]]
        lines.append(
            f"| {row['test_set']} | {row['beam_size']} | {row['bleu']:.1f} | {other['bleu']:.1f} "
            f"| {row['chrf']:.1f} | {other['chrf']:.1f} |"
        )
    return "\n".join(lines)


def throughput_table(result: dict[str, Any]) -> str:
    """Sentences a second by batch, beam and workers."""
    rates = {
        (row["setting"]["batch"], row["setting"]["beam_size"], row["setting"]["workers"]): row[
            "median_sentences_per_s"
        ]
        for row in result["results"]
    }
    workers = sorted({key[2] for key in rates})
    lines = [
        "| batch | beam | " + " | ".join(f"{number} worker{'s' * (number > 1)}" for number in workers) + " |",
        "|---|---|" + "---|" * len(workers),
    ]
    for batch, beam_size in sorted({key[:2] for key in rates}):
        cells = " | ".join(f"{rates[batch, beam_size, number]:.0f}" for number in workers)
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
        quality_table(_read("quality-int8.json"), _read("quality-fp32.json")),
        throughput_table(_read("throughput.json")),
        load_table(_read("load.json")),
    ]


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf8"))
    return content


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(all_tables()) + "\n")
