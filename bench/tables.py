"""Tables of the README and of docs/reports/serving.md: `python -m bench.tables` prints them."""

from collections.abc import Sequence

from bench.page import Result, pivot_table, read_result, table
from bench.provenance import RESULTS
from export.markdown import cell


def quality_table(cards: Sequence[Result]) -> str:
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


def load_table(result: Result) -> str:
    """Render throughput and latency of closed-loop clients."""
    return table(
        "clients | sentences/s | median ms | p99 ms",
        "{clients} | {sentences_per_s:.0f} | {median_ms:.0f} | {p99_ms:.0f}",
        (
            {**row, "median_ms": 1000 * row["median_latency_s"], "p99_ms": 1000 * row["p99_latency_s"]}
            for row in result["results"]
        ),
    )


def all_tables() -> list[str]:
    """Render the table of the README, and those of docs/reports/serving.md in their order."""
    cards = [read_result(RESULTS / f"card-{name}.json") for name in ("de-en", "en-de")]
    serving = (throughput_table, "throughput.json"), (load_table, "load.json")
    return [quality_table(cards), *(make(read_result(RESULTS / file)) for make, file in serving)]


if __name__ == "__main__":
    print("\n\n".join(all_tables()))
