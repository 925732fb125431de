"""Train and compare models: `python -m bench.experiments PLAN --train FILE --dev DE EN --test DE EN`.

A plan, such as bench/plans/shapes.toml, has the settings of `python -m training`, and arms with the settings
in which they differ. The same command resumes after an interruption. It writes the results after each run; at
the end it writes the tables and plots of docs/reports/experiments.md.
"""

import hashlib
import json
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import sacrebleu
from safetensors import safe_open

from bench.command import Command, Options
from bench.page import REPORTS, origin_line, read_result, render, table
from bench.plots import draw_arms, save
from bench.provenance import RESULTS, provenance, write_json
from bench.quality import num_cut, translate_all
from bench.rounds import Spread, interleave, spread
from bench.throughput import Setting, run_once
from bench.workloads import read_lines
from dragoman import DecodingOptions, Translator
from dragoman.bundle import file_sha256
from export.checkpoint import CONFIG_FILE, TRAINING_FILE, WEIGHTS_FILE

PAGE = REPORTS / "experiments.md"
PLANS = Path(__file__).parent / "plans"
PRECISIONS = ("fp32", "int8")
GREEDY, BEAM = 1, 4
BATCHES = (1, 32)
NUM_TIMED_SENTENCES, NUM_ROUNDS = 256, 7

Table = Mapping[str, Any]


def recipe_of(plan: Table, arm: Table, seed: int, texts: Mapping[str, Sequence[Path]]) -> dict[str, Any]:
    """Return the recipe of an arm with one seed, without its `run_dir`."""
    recipe = {name: {**settings, **arm.get(name, {})} for name, settings in plan["recipe"].items()}
    files = [str(path) for path in texts["train"]]
    recipe["data.corpora"] = {"name": "train", "files": files, "weight": 1.0, "licence": plan["licence"]}
    recipe["optimisation"] |= {"seed": seed}
    recipe["validation"] |= dict(zip(("source", "target"), map(str, texts["dev"]), strict=True))
    return recipe


def as_toml(recipe: Table) -> str:
    """Format a recipe; its plain values look the same in TOML and JSON."""
    lines = []
    for name, settings in recipe.items():
        lines.append(f"[[{name}]]" if name == "data.corpora" else f"[{name}]")
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items()]
    return "\n".join(lines) + "\n"


def fingerprint(recipe: Table, hashes: Mapping[str, str]) -> str:
    """Return a hash of a recipe and the texts, independent of their paths."""
    paths = {"data.corpora": {"files"}, "validation": {"source", "target"}}
    settings = {
        name: {key: value for key, value in table.items() if key not in paths.get(name, ())}
        for name, table in recipe.items()
    }
    return hashlib.sha256(json.dumps([settings, hashes], sort_keys=True).encode()).hexdigest()


def train_and_score(name: str, recipe: Table, run_dir: Path, test: Sequence[Path]) -> dict[str, Any]:
    """Train a model, or resume its training; export it in both precisions; return what was measured."""
    run_dir.mkdir(parents=True, exist_ok=True)
    content = f"run_dir = {json.dumps(str(run_dir))}\n{as_toml(recipe)}"
    (run_dir / "recipe.toml").write_text(content, encoding="utf8")
    _run("training", str(run_dir / "recipe.toml"))
    checkpoint = run_dir / "checkpoint"
    scores = []
    for precision in PRECISIONS:
        bundle = run_dir / precision
        if not bundle.is_dir():
            options = ("--precision", precision, "--name", f"{name}-{precision}")
            sentences = ("--sentences", recipe["validation"]["source"])
            _run("export", str(checkpoint), str(bundle), *options, *sentences)
        scores += score_bundle(bundle, test)
    record, shape = read_result(checkpoint / TRAINING_FILE), read_result(checkpoint / CONFIG_FILE)
    cache_bytes = (1 if shape["share_kv"] else 2) * shape["decoder_layers"] * shape["d_model"]
    return {
        "parameters": count_parameters(checkpoint / WEIGHTS_FILE),
        "self_bytes_per_token": cache_bytes,
        "cross_bytes_per_token": cache_bytes,
        **{key: record[key] for key in ("steps", "pairs_seen", "train_hours", "machine")},
        "scores": scores,
    }


def _run(module: str, *arguments: str) -> None:
    command = [sys.executable, "-m", module, *arguments]
    subprocess.run(command, check=True)  # noqa: S603 -- our own modules


def score_bundle(bundle: Path, test: Sequence[Path]) -> list[dict[str, Any]]:
    """Return BLEU, cased and lower-cased, and chrF (0 to 100) of a bundle, greedy and with beam 4."""
    sources, references = (path.read_text(encoding="utf8").splitlines() for path in test)
    metrics = {
        "bleu": sacrebleu.BLEU(),
        "bleu_lower": sacrebleu.BLEU(lowercase=True),
        "chrf": sacrebleu.CHRF(),
    }
    found = []
    with Translator.open(bundle) as translator:
        for beam_size in (GREEDY, BEAM):
            outputs = translate_all(translator, sources, DecodingOptions(beam_size=beam_size))
            texts = [output.text for output in outputs]
            row = {"precision": translator.manifest.precision, "beam_size": beam_size, "lines": len(sources)}
            for name, metric in metrics.items():
                row[name] = round(metric.corpus_score(texts, [references]).score, 2)
            found.append(row | {"cut_by_length": num_cut(outputs)})
    return found


def count_parameters(weights: Path) -> int:
    """Count the parameters of a checkpoint, in which tied tables are stored once."""
    with safe_open(weights, framework="numpy") as file:
        names: Iterable[str] = file.keys()
        return sum(prod(file.get_slice(name).get_shape()) for name in names)


def time_bundles(bundles: Mapping[str, Path], lines: list[str]) -> list[dict[str, Any]]:
    """Time all bundles in turn, greedy, with one replica; return ms per sentence by arm and batch size."""
    with ExitStack() as opened:
        translators = {
            name: opened.enter_context(Translator.open(path, replicas=1)) for name, path in bundles.items()
        }

        def ms_per_sentence(batch: int, name: str, _: int) -> float:
            seconds, _ = run_once(translators[name], lines, Setting(batch, beam_size=GREEDY, callers=1))
            return round(1e3 * seconds / len(lines), 3)

        interleave(BATCHES[-1:], [*bundles], 1, ms_per_sentence)
        times = interleave(BATCHES, [*bundles], NUM_ROUNDS, ms_per_sentence)
    return [
        {"arm": name, "batch": batch, "ms_per_sentence": asdict(spread(times[batch, name]))}
        for name, batch in product(bundles, BATCHES)
    ]


def run_plan(plan: Table, texts: Mapping[str, Sequence[Path]], folder: Path, output: Path) -> None:
    """Make all runs that `output` lacks, first every arm with the first seed; then time the arms.

    Raises:
        SystemExit: a run in `output` has another recipe or other texts than the plan.
    """
    result: dict[str, Any] = read_result(output) if output.is_file() else {"runs": []}
    names = {kind: " ".join(path.name for path in paths) for kind, paths in texts.items()}
    hashes = {kind: " ".join(map(file_sha256, paths)) for kind, paths in texts.items()}
    options = " ".join(f"--{kind} {files}" for kind, files in names.items())
    command = f"python -m bench.experiments {plan['name']} {options}"
    result |= {
        "texts": {"files": names, "sha256": hashes},
        "arms": [{key: arm[key] for key in ("name", "label")} for arm in plan["arms"]],
    }
    recipes = {
        f"{arm['name']}-seed{seed}": (arm["name"], seed, recipe_of(plan, arm, seed, texts))
        for seed, arm in product(plan["seeds"], plan["arms"])
    }
    fingerprints = {name: fingerprint(recipe, hashes) for name, (_, _, recipe) in recipes.items()}
    made = {run["run"]: run["fingerprint"] for run in result["runs"]}
    if others := [name for name, found in made.items() if found != fingerprints.get(name)]:
        raise SystemExit(
            f"{output} has runs with another recipe or other texts: {', '.join(others)}; move it"
        )
    for name, (arm_name, seed, recipe) in recipes.items():
        if name in made:
            continue
        measured = train_and_score(name, recipe, folder / name, texts["test"])
        run = {"run": name, "arm": arm_name, "seed": seed, "fingerprint": fingerprints[name]}
        result["runs"].append({**run, **measured})
        result["provenance"] = asdict(provenance(folder / name / PRECISIONS[-1], command))
        write_json(output, result)
    if result.get("timing") is None:
        bundles = {
            arm["name"]: folder / f"{arm['name']}-seed{plan['seeds'][0]}" / PRECISIONS[-1]
            for arm in plan["arms"]
        }
        lines = read_lines(texts["test"][0], NUM_TIMED_SENTENCES)
        rows = time_bundles(bundles, lines)
        result["timing"] = {"sentences": len(lines), "rounds": NUM_ROUNDS, "results": rows}
        write_json(output, result)


def write_page(results_dir: Path, page: Path, template: Path = PAGE) -> None:
    """Write the tables of all plans that have results into the page, and a plot for each."""
    tables: dict[str, str] = {}
    for path in sorted(results_dir.glob("experiments-*.json")):
        result, name = read_result(path), path.stem.removeprefix("experiments-")
        tables |= {f"{name}-scores": scores_table(result), f"{name}-origin": origin_line(result)}
        draw = partial(draw_arms, points_of(result))
        save(draw, page.parent / "figures" / f"{path.stem}.png", size_inches=(12, 4.8))
    page.write_text(render(template.read_text(encoding="utf8"), tables), encoding="utf8")


def scores_table(result: Table) -> str:
    """Render a row for each arm that has a run: means over its seeds, with ranges if there are several."""
    rows = []
    for arm in result["arms"]:
        runs = [run for run in result["runs"] if run["arm"] == arm["name"]]
        if not runs:
            continue
        times = [times_of(result, arm["name"], batch) for batch in BATCHES]
        row = {
            "seeds": len(runs),
            "bleu": [with_range(scores(runs, "bleu", size)) for size in (BEAM, GREEDY)],
            "chrf": with_range(scores(runs, "chrf", BEAM)),
            "cut": [statistics.fmean(scores(runs, "cut_by_length", size)) for size in (GREEDY, BEAM)],
            "millions": runs[0]["parameters"] / 1e6,
            "ms": ["" if time is None else f"{time.median:.1f}" for time in times],
            "minutes": 60 * statistics.fmean(run["train_hours"] for run in runs),
        }
        rows.append({**runs[0], **arm, **row})
    return table(
        "arm | seeds | BLEU, beam 4 | BLEU, greedy | chrF, beam 4 | lines cut, greedy / beam 4"
        " | parameters, millions | cache, bytes a token, self + cross | ms a sentence, one at a time"
        " | ms a sentence, 32 at a time | minutes trained",
        "{label} | {seeds} | {bleu[0]} | {bleu[1]} | {chrf} | {cut[0]:.0f} / {cut[1]:.0f} | {millions:.2f}"
        " | {self_bytes_per_token:,} + {cross_bytes_per_token:,} | {ms[0]} | {ms[1]} | {minutes:.0f}",
        rows,
    )


def points_of(result: Table) -> dict[int, list[tuple[str, float, list[float]]]]:
    """Return label, milliseconds per sentence and greedy BLEU of each arm in int8, by batch size."""
    points: dict[int, list[tuple[str, float, list[float]]]] = {batch: [] for batch in BATCHES}
    for batch, arm in product(BATCHES, result["arms"]):
        runs = [run for run in result["runs"] if run["arm"] == arm["name"]]
        time = times_of(result, arm["name"], batch)
        if runs and time is not None:
            points[batch].append((arm["label"], time.median, scores(runs, "bleu", GREEDY, "int8")))
    return points


def scores(runs: Sequence[Table], metric: str, beam_size: int, precision: str = "fp32") -> list[float]:
    """Return one metric of each run."""
    return [
        score[metric]
        for run in runs
        for score in run["scores"]
        if (score["precision"], score["beam_size"]) == (precision, beam_size)
    ]


def with_range(values: Sequence[float]) -> str:
    """Format the mean, and the range of several values."""
    mean = f"{statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.1f} to {max(values):.1f})"


def times_of(result: Table, arm: str, batch: int) -> Spread | None:
    """Return milliseconds per sentence; None until the arms are timed."""
    for row in (result.get("timing") or {"results": ()})["results"]:
        if (row["arm"], row["batch"]) == (arm, batch):
            return Spread(**row["ms_per_sentence"])
    return None


def main() -> None:
    """Make the missing runs of a plan and write the page."""
    folder = Path("runs/experiments")
    options: Options = {"plan in bench/plans, or its file": str, "--folder of the runs": folder}
    command = Command("experiments", __doc__, options)
    add = command.parser.add_argument
    add("--train", type=Path, nargs="+", required=True, help="TSV files of pairs, perhaps .xz")
    for name in ("--dev", "--test"):
        add(name, type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"))
    arguments = command.parse()
    path = PLANS / f"{arguments.plan}.toml"
    plan = tomllib.loads((path if path.is_file() else Path(arguments.plan)).read_text(encoding="utf8"))
    output = arguments.output or RESULTS / f"experiments-{plan['name']}.json"
    texts = {name: getattr(arguments, name) for name in ("train", "dev", "test")}
    run_plan(plan, texts, arguments.folder / plan["name"], output)
    if output.parent == RESULTS:
        write_page(RESULTS, PAGE)


if __name__ == "__main__":
    main()
