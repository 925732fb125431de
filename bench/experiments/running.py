"""Execution of a run: train, export, score, each in a separate process.

FOLDER/NAME/
  recipe.toml            input of `python -m training`, which writes its files next to it
  log                    output of the commands
  checkpoint/            the trained model
  fp32/  int8/           bundles
  scores-fp32.json ...   results of `bench.experiments.scoring`
  done/                  a mark for each finished step, and the recipe's fingerprint
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from bench.experiments.commands import ExperimentError, StopRequest, module_command, run_command
from bench.experiments.plan import Run
from bench.experiments.recipe import Texts, as_toml, fingerprint, recipe_of
from export.checkpoint import CONFIG_FILE, TRAINING_FILE, WEIGHTS_FILE

PRECISIONS = ("fp32", "int8")
BEAM_SIZES = ("1", "4")
TRAINING_FOLDERS = ("resume", "snapshots")
"""Folders, hundreds of megabytes, that are deleted after a run is measured."""

Execute = Callable[[Sequence[str], Path, StopRequest], None]


@dataclass(frozen=True, slots=True)
class JobDirectory:
    """The folder of all runs, their texts, and how they are started."""

    folder: Path
    texts: Texts
    hashes: dict[str, str]
    niceness: int
    execute: Execute = run_command

    def run_dir(self, run: Run) -> Path:
        return self.folder / run.name

    def fingerprint(self, run: Run) -> str:
        return fingerprint(recipe_of(run, self.texts, self.run_dir(run)), self.hashes)


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a run; after it has succeeded, it is not run again."""

    name: str
    command: tuple[str, ...]


def steps_of(run: Run, directory: JobDirectory) -> Iterator[Step]:
    """Yield the steps: train, then export and score in each precision."""
    run_dir, source = directory.run_dir(run), str(directory.texts.dev[0])
    yield Step("train", _command(directory, "training", str(run_dir / "recipe.toml")))
    for precision in PRECISIONS:
        models = (str(run_dir / "checkpoint"), str(run_dir / precision))
        options = ("--precision", precision, "--name", f"{run.name}-{precision}", "--sentences", source)
        yield Step(f"export-{precision}", _command(directory, "export", *models, *options))
    for precision in PRECISIONS:
        files = (run_dir / precision, *directory.texts.test, run_dir / f"scores-{precision}.json")
        beams = [option for size in BEAM_SIZES for option in ("--beam-size", size)]
        scoring = _command(directory, "bench.experiments.scoring", *map(str, files), *beams)
        yield Step(f"score-{precision}", scoring)


def execute_run(run: Run, directory: JobDirectory, stop: StopRequest) -> dict[str, Any]:
    """Run the remaining steps of a run and return its measurements.

    Raises:
        Stopped: a signal arrived; the next call resumes the run.
        ExperimentError: a step failed, or the run's folder belongs to another recipe or other texts.
    """
    run_dir = directory.run_dir(run)
    marks = run_dir / "done"
    marks.mkdir(parents=True, exist_ok=True)
    _claim(run, directory, marks / "fingerprint")
    recipe = as_toml(recipe_of(run, directory.texts, run_dir))
    (run_dir / "recipe.toml").write_text(recipe, encoding="utf8")
    for step in steps_of(run, directory):
        if not (marks / step.name).exists():
            directory.execute(step.command, run_dir / "log", stop)
            (marks / step.name).touch()
    gathered = gather(run, directory)
    for name in TRAINING_FOLDERS:
        shutil.rmtree(run_dir / name, ignore_errors=True)
    return gathered


def gather(run: Run, directory: JobDirectory) -> dict[str, Any]:
    """Collect the measurements of a finished run."""
    run_dir = directory.run_dir(run)
    checkpoint = run_dir / "checkpoint"
    record = _read(checkpoint / TRAINING_FILE)
    scores = [score for precision in PRECISIONS for score in _read(run_dir / f"scores-{precision}.json")]
    return {
        "run": run.name,
        "arm": run.arm.name,
        "seed": run.seed,
        "fingerprint": directory.fingerprint(run),
        "parameters": count_parameters(checkpoint / WEIGHTS_FILE),
        **asdict(cache_bytes(_read(checkpoint / CONFIG_FILE))),
        "steps": record["steps"],
        "pairs_seen": record["pairs_seen"],
        "train_hours": record["train_hours"],
        "machine": record["machine"],
        "scores": scores,
    }


@dataclass(frozen=True, slots=True)
class CacheBytes:
    """Size of the K/V caches over all decoder layers, at one byte per number."""

    self_bytes_per_token: int
    """Bytes per target token and row."""
    cross_bytes_per_token: int
    """Bytes per source token."""


def cache_bytes(shape: dict[str, Any]) -> CacheBytes:
    """Compute the cache sizes; keys and values that share one tensor count once."""
    tensors = 1 if shape["share_kv"] else 2
    size = tensors * shape["decoder_layers"] * shape["d_model"]
    return CacheBytes(size, size)


def count_parameters(weights: Path) -> int:
    """Count the parameters of a checkpoint, in which tied tables are stored once."""
    total = 0
    with safe_open(weights, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 -- not a dict
            size = 1
            for extent in file.get_slice(name).get_shape():
                size *= extent
            total += size
    return total


def _claim(run: Run, directory: JobDirectory, mark: Path) -> None:
    expected = directory.fingerprint(run)
    if not mark.exists():
        mark.write_text(expected, encoding="utf8")
    elif mark.read_text(encoding="utf8") != expected:
        raise ExperimentError(
            f"{directory.run_dir(run)} was begun with another recipe or other texts; choose another --folder "
            "or remove that one"
        )


def _command(directory: JobDirectory, module: str, *arguments: str) -> tuple[str, ...]:
    return tuple(module_command(directory.niceness, module, *arguments))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf8"))
