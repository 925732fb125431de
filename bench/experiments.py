"""Train and compare models: `python -m bench.experiments PLAN --train FILE --dev DE EN --test DE EN`.

A plan, such as bench/plans/shapes.toml, has the settings of `python -m training`, and arms with the settings
in which they differ. The same command resumes after an interruption. It writes the results after each run;
`python -m bench.page` makes the tables and plots of docs/reports/experiments.md of them.
"""

import json
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from safetensors import safe_open

from bench.command import Command, Options, Words
from bench.provenance import RESULTS, provenance, read_result, write_json
from bench.quality import EvaluationSet, measure
from bench.rounds import Spread, interleave, spread
from bench.tables import table
from bench.throughput import Setting, run_once
from bench.workloads import read_lines
from dragoman import DecodingOptions, Translator
from export.checkpoint_folder import CONFIG_FILE, TRAINING_FILE, WEIGHTS_FILE

PLANS = Path(__file__).parent / "plans"
PRECISIONS = ("fp32", "int8")
GREEDY, BEAM = 1, 4
BATCHES = (1, 32)
NUM_TIMED_SENTENCES, NUM_ROUNDS = 256, 7

Table = Mapping[str, Any]
Texts = Mapping[str, Sequence[Path]]
"""Files of the training, development and test sets."""


def recipe_of(plan: Table, arm: Table, seed: int, texts: Texts) -> str:
    """Return the recipe of an arm with one seed, without its `run_dir`; plain values are TOML and JSON."""
    recipe = {name: {**settings, **arm.get(name, {})} for name, settings in plan["recipe"].items()}
    recipe["optimisation"]["seed"] = seed
    recipe["validation"] |= dict(zip(("source", "target"), map(str, texts["dev"]), strict=True))
    files = [str(path) for path in texts["train"]]
    corpus = {"name": "train", "files": files, "weight": 1.0, "licence": plan["licence"]}
    lines = []
    for head, settings in {"[data.corpora]": corpus, **recipe}.items():
        lines += [f"[{head}]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    return "\n".join(lines) + "\n"


def train(recipe: str, run_dir: Path, sentences: Path) -> None:
    """Train a model, or resume its training, and export it in both precisions.

    Raises:
        SystemExit: the folder has a run with another recipe.
    """
    path, content = run_dir / "recipe.toml", f"run_dir = {json.dumps(str(run_dir))}\n{recipe}"
    if path.is_file() and path.read_text(encoding="utf8") != content:
        raise SystemExit(f"{run_dir} has a run with another recipe or other texts; move it")
    run_dir.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf8")
    commands: list[tuple[object, ...]] = [("training", path)]
    for precision in PRECISIONS:
        if not (run_dir / precision).is_dir():
            files = (run_dir / "checkpoint", run_dir / precision, "--sentences", sentences)
            commands.append(("export", *files, "--precision", precision, "--name", run_dir.name))
    for command in commands:
        subprocess.run([sys.executable, "-m", *map(str, command)], check=True)  # noqa: S603 -- our own modules


def describe_run(run_dir: Path, test: EvaluationSet) -> dict[str, Any]:
    """Return size, training and scores of a run, in both precisions, greedy and with beam 4."""
    checkpoint, scores = run_dir / "checkpoint", []
    for precision in PRECISIONS:
        with Translator.open(run_dir / precision) as translator:
            rows = [measure(translator, test, DecodingOptions(beam_size=size)) for size in (GREEDY, BEAM)]
        scores += [{"precision": precision, **row} for row in rows]
    record, shape = read_result(checkpoint / TRAINING_FILE), read_result(checkpoint / CONFIG_FILE)
    cache_bytes = (1 if shape["share_kv"] else 2) * shape["decoder_layers"] * shape["d_model"]
    has_cells = shape.get("autoregression", "attention") != "attention"  # whose size does not grow
    with safe_open(checkpoint / WEIGHTS_FILE, framework="numpy") as file:
        parameters = sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 -- no dict
    return {
        "parameters": parameters,
        "self_bytes_per_token": 0 if has_cells else cache_bytes,
        "cross_bytes_per_token": cache_bytes,
        **{key: record[key] for key in ("steps", "pairs_seen", "train_hours", "machine")},
        "scores": scores,
    }


def time_bundles(bundles: Mapping[str, Path], lines: list[str]) -> dict[str, Any]:
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
    rows = [
        {"arm": name, "batch": batch, "ms_per_sentence": asdict(spread(times[batch, name]))}
        for name, batch in product(bundles, BATCHES)
    ]
    return {"sentences": len(lines), "rounds": NUM_ROUNDS, "results": rows}


def run_plan(plan: Table, texts: Texts, folder: Path, output: Path, command: str) -> None:
    """Make all runs that `output` lacks, first every arm with the first seed; then time the arms."""
    result: dict[str, Any] = read_result(output) if output.is_file() else {"runs": []}
    result["arms"] = [{key: arm[key] for key in ("name", "label")} for arm in plan["arms"]]
    made = {run["run"] for run in result["runs"]}
    test = EvaluationSet("test", *texts["test"])
    for seed, arm in product(plan["seeds"], plan["arms"]):
        name = f"{arm['name']}-seed{seed}"
        recipe, run_dir = recipe_of(plan, arm, seed, texts), folder / name
        if name not in made:
            train(recipe, run_dir, texts["dev"][0])
            run = {"run": name, "arm": arm["name"], "seed": seed, **describe_run(run_dir, test)}
            result["runs"].append(run)
            result["provenance"] = provenance(run_dir / PRECISIONS[-1], command)
            write_json(output, result)
    if "timing" not in result:
        first = plan["seeds"][0]
        runs = {arm["name"]: folder / f"{arm['name']}-seed{first}" / PRECISIONS[-1] for arm in plan["arms"]}
        result["timing"] = time_bundles(runs, read_lines(texts["test"][0], NUM_TIMED_SENTENCES))
        write_json(output, result)


def scores_table(result: Table) -> str:
    """Render a row for each arm that has a run: means over its seeds, with ranges if there are several."""
    rows = []
    for arm in result["arms"]:
        name, runs = arm["name"], [run for run in result["runs"] if run["arm"] == arm["name"]]
        if not runs:
            continue
        times = [time_of_arm(result, name, batch) for batch in BATCHES]
        cut = [scores_of_arm(result, name, "cut_by_length", size) for size in (GREEDY, BEAM)]
        row = {
            "seeds": len(runs),
            "bleu": [with_range(scores_of_arm(result, name, "bleu", size)) for size in (BEAM, GREEDY)],
            "chrf": with_range(scores_of_arm(result, name, "chrf", BEAM)),
            "cut": [*map(statistics.fmean, cut)],
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


def scores_of_arm(
    result: Table, arm: str, metric: str, beam_size: int, precision: str = "fp32"
) -> list[float]:
    """Return one metric of each run of an arm."""
    runs = [run for run in result["runs"] if run["arm"] == arm]
    scores = [score for run in runs for score in run["scores"]]
    wanted = (precision, beam_size)
    return [score[metric] for score in scores if (score["precision"], score["beam_size"]) == wanted]


def time_of_arm(result: Table, arm: str, batch: int) -> Spread | None:
    """Return the milliseconds per sentence; None until the arms are timed."""
    rows = result["timing"]["results"] if "timing" in result else []
    times = [row["ms_per_sentence"] for row in rows if (row["arm"], row["batch"]) == (arm, batch)]
    return Spread(**times[0]) if times else None


def with_range(values: Sequence[float]) -> str:
    """Format the mean, and the range of several values."""
    mean = f"{statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    """Make the missing runs of a plan."""
    options: Options = {
        "plan in bench/plans, or its file": str,
        "--folder of the runs": Path("runs/experiments"),
        "--train TSV files of pairs, perhaps .xz": [Path],
        "--dev text to validate on": Words(("SOURCE", "TARGET"), "required"),
        "--test text to score": Words(("SOURCE", "TARGET"), "required"),
    }
    command = Command("experiments", __doc__, options)
    arguments = command.parse()
    path = PLANS / f"{arguments.plan}.toml"
    plan = tomllib.loads((path if path.is_file() else Path(arguments.plan)).read_text(encoding="utf8"))
    output = arguments.output or RESULTS / f"experiments-{plan['name']}.json"
    texts = {
        "train": arguments.train,
        **{name: [*map(Path, vars(arguments)[name])] for name in ("dev", "test")},
    }
    run_plan(plan, texts, arguments.folder / plan["name"], output, str(command))


if __name__ == "__main__":
    main()
