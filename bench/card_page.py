"""docs/reports/models.md: a section for each bundled model, generated from `bench/results/card-*.json`."""

import json
from pathlib import Path

from bench.card_curve import draw_curve
from bench.card_tables import Result, cost, curve_caption
from export.markdown import cell
from export.model_card import score_table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "reports" / "models.md"
FIGURES = "figures"
"""Folder of the plots, next to the page."""
_HEAD = """\
# Bundled models

One section for each model in `models/`: how good it is, how fast, and how it learned. This page is made of
`bench/results/card-*.json` by `python -m bench.card --page`; those files, and the models' cards, are written
by `python -m bench.card MODEL`. The card, README.md in the model's folder, tells the rest: how to try it,
examples, training data and their licences, known limits.
"""


def read_results(folder: Path = RESULTS) -> dict[str, Result]:
    """Read all results, by the name of the bundle's folder, in alphabetical order."""
    results = [json.loads(path.read_text(encoding="utf8")) for path in sorted(folder.glob("card-*.json"))]
    return {result["provenance"]["bundle"]: result for result in results}


def render_page(results: dict[str, Result]) -> str:
    """Render the page as Markdown."""
    return "\n".join([_HEAD, *(_model(name, result) for name, result in results.items())])


def write_page(results: dict[str, Result], page: Path = PAGE) -> list[Path]:
    """Write the page, and a plot for each model with a curve; return the files written."""
    page.write_text(render_page(results), encoding="utf8")
    written = [page]
    for name, result in results.items():
        recorded = result["curve"]
        if recorded["points"]:
            path = page.parent / _picture(name)
            draw_curve(recorded["points"], recorded["run_ends"], path)
            written.append(path)
    return written


def _model(name: str, result: Result) -> str:
    parts = [
        f"## {cell(name)}",
        f"{result['summary']} [Its card](../../models/{name}/README.md).",
        "### Quality",
        score_table(result["scores"]),
        "### Cost",
        cost(result),
    ]
    if result["curve"]["points"]:
        picture = f"![BLEU and chrF of {cell(name)} against the pairs seen]({_picture(name)})"
        parts += ["### Learning", picture, curve_caption(result["curve"])]
    return "\n\n".join(parts) + "\n"


def _picture(name: str) -> str:
    return f"{FIGURES}/learning-{name}.png"
