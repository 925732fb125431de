"""Tables of docs/reports and of the README, made of bench/results; `bench.page` writes them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from export.markdown import cell

Result = Mapping[str, Any]


def table(head: str, row: str, rows: Iterable[Result]) -> str:
    """Render rows as Markdown; `head` and the format `row` have the columns, separated by ` | `."""
    lines = [f"| {head} |", "|" + "---|" * len(head.split(" | "))]
    return "\n".join([*lines, *(f"| {row.format_map(each)} |" for each in rows)])


def pivot_table(head: str, cells: Mapping[tuple[tuple[Any, ...], str], str]) -> str:
    """Render cells by the key of their row, which has the columns of `head`, and the head of their column."""
    columns = dict.fromkeys(column for _, column in cells)
    rows = (
        {"cells": [*key, *(cells[key, one] for one in columns)]} for key in sorted({key for key, _ in cells})
    )
    heads = [*head.split(" | "), *columns]
    return table(" | ".join(heads), " | ".join(f"{{cells[{n}]}}" for n in range(len(heads))), rows)


def origin_line(result: Result) -> str:
    """Return machine, versions, commit and date as a sentence."""
    origin = result["provenance"]
    packages = {**origin["packages"], **result.get("packages", {})}
    versions = ", ".join(f"{name} {number}" for name, number in sorted(packages.items()))
    if origin.get("kernels"):  # older results have none
        versions += f", kernels {origin['kernels']}"
    return (
        f"{origin['cpu']}, {origin['cores']} cores; Python {origin['python']}, {versions}; commit "
        f"{origin['commit']}, {origin['measured_at'][:10]}."
    )


def offline_table(result: Result, workers: int) -> str:
    """Render milliseconds per sentence, and speed relative to the reference, by setting and engine."""
    rows = [row for row in result["results"] if row["workers"] == workers]
    return pivot_table(
        "batch | beam",
        {
            ((row["batch"], row["beam_size"]), row["engine"]): (
                f"{row['ms_per_sentence']['median']:.1f} ms, {row['speed']['median']:.2f} x"
            )
            for row in rows
        },
    )


def quality_table(result: Result) -> str:
    """Render the share of equal outputs, and BLEU if there were references."""
    found = result.get("quality", ())
    columns = {"same output as Dragoman fp32": ("equal_to_fp32", "{:.1%}"), "BLEU": ("bleu", "{:.2f}")}
    cells = {
        ((row["engine"], str(row["beam_size"])), head): form.format(row[name])
        for head, (name, form) in columns.items()
        if any(name in row for row in found)
        for row in found
    }
    return pivot_table("engine | beam", cells)


def online_table(result: Result, *, is_open: bool) -> str:
    """Render latency and throughput by the number of waiting clients, or by the offered rate."""
    rows = [row for row in result["results"] if (row["clients"] is None) == is_open]
    return table(
        ("offered" if is_open else "clients") + " | served by | requests/s | p50 ms | p99 ms | errors",
        ("{rate:.1f}/s" if is_open else "{clients}")
        + " | {way} | {requests_per_s:.1f} | {p50_ms:.0f} | {p99_ms:.0f} | {errors}",
        sorted(rows, key=lambda row: row["rate"] or row["clients"]),
    )


def memory_table(result: Result) -> str:
    """Render start-up time and memory of each engine in a fresh process."""
    return table(
        "engine | first translation s | after load MiB | peak MiB | requests | after them MiB",
        "{engine} | {first_translation_s:.2f} | {loaded_mib:.0f} | {peak_mib:.0f} | {requests}"
        " | {after_requests_mib:.0f}",
        result["footprint"],
    )


def card_quality_table(*cards: Result) -> str:
    """Render BLEU and chrF by model and test set: as shipped, greedy and beam 4, and fp32 weights."""
    rows = []
    for card in cards:
        for name, scores in card["scores"].items():
            # The fp32 weights are the first variants, the shipped bundle is the last one.
            greedy, beam = (
                [one for one in scores["variants"] if one["beam_size"] == size] for size in (1, 4)
            )
            row = {"model": cell(card["provenance"]["bundle"]), "set": cell(name)}
            rows.append(row | {"greedy": greedy[-1], "beam": beam[-1], "fp32": beam[0]})
    scores_head = "{0}, greedy | beam 4 | fp32, beam 4"
    scores_cells = "{{greedy[{0}]:.2f}} | {{beam[{0}]:.2f}} | {{fp32[{0}]:.2f}}"
    return table(
        " | ".join(["model | test set", *map(scores_head.format, ("BLEU", "chrF"))]),
        " | ".join(["{model} | {set}", *map(scores_cells.format, ("bleu", "chrf"))]),
        rows,
    )


def throughput_table(result: Result) -> str:
    """Render sentences per second by sentences per call, beam and number of callers."""
    cells = {}
    for row in result["results"]:
        setting = row["setting"]
        callers = f"{setting['callers']} caller{'s' * (setting['callers'] > 1)}"
        cells[(setting["batch"], setting["beam_size"]), callers] = f"{row['median_sentences_per_s']:.0f}"
    return pivot_table("sentences a call | beam", cells)


def gpu_kernels_table(result: Result) -> str:
    """Render sentences per second of the engine's kernels on a GPU, and of PyTorch there."""
    columns = ("ids to ids", "text to text", "PyTorch, ids to ids")
    cells: dict[tuple[tuple[Any, ...], str], str] = defaultdict(str)
    for column in columns:
        for row in result["results"]:
            if row["row"] == column:
                cells[(row["batch"], row["beam_size"]), column] = f"{row['sentences_per_s']:,.0f}"
    return pivot_table("sentences a call | beam", cells)


def gpu_bits_table(result: Result) -> str:
    """Render how many searches have the same bits in other company, and the same ids as on the CPU."""
    found = {(row["row"], row.get("beam_size")): row for row in result["results"]}
    return table(
        "beam | in another order | among a tenth | alone | same ids as onnxruntime on the CPU",
        "{beam_size} | {other_order} | {fewer} | {alone} | {same_ids} of {of}",
        (found["same bits as together", size] | found["as onnxruntime on the CPU", size] for size in (1, 4)),
    )


def gpu_origin_line(result: Result) -> str:
    """Return the GPUs with memory and driver, and `origin_line`."""
    return f"{'; '.join(result['gpus'])}; {origin_line(result)}"
