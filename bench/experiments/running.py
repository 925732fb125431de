"""From a run of the plan to its measurements: train, export, score, each in a process of its own.

FOLDER/NAME/
  recipe.toml            what `python -m training` reads; its own files lie beside it
  log                    what the commands printed
  checkpoint/            the trained model
  fp32/  int8/           bundles
  scores-fp32.json ...   what `bench.experiments.scoring` found
  done/                  a mark for each step that was finished, and the recipe's fingerprint
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
KEPT_FOR_TRAINING = ("resume", "snapshots")
"""Hundreds of megabytes that nobody needs once a run is measured."""

Execute = Callable[[Sequence[str], Path, StopRequest], None]


@dataclass(frozen=True, slots=True)
class JobDirectory:
    """Where runs lie, what they read, and how they are started."""

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
    """A command that is not run again once it has ended well."""

    name: str
    command: tuple[str, ...]


def steps_of(run: Run, place: JobDirectory) -> Iterator[Step]:
    """Train, export twice, score twice."""
    run_dir, source = place.run_dir(run), str(place.texts.dev[0])
    yield Step("train", _command(place, "training", str(run_dir / "recipe.toml")))
    for precision in PRECISIONS:
        models = (str(run_dir / "checkpoint"), str(run_dir / precision))
        options = ("--precision", precision, "--name", f"{run.name}-{precision}", "--sentences", source)
        yield Step(f"export-{precision}", _command(place, "export", *models, *options))
    for precision in PRECISIONS:
        files = (run_dir / precision, *place.texts.test, run_dir / f"scores-{precision}.json")
        beams = [option for size in BEAM_SIZES for option in ("--beam-size", size)]
        scoring = _command(place, "bench.experiments.scoring", *map(str, files), *beams)
        yield Step(f"score-{precision}", scoring)


def carry_out(run: Run, place: JobDirectory, stop: StopRequest) -> dict[str, Any]:
    """Do what is not yet done of a run, and gather what was measured.

    Raises:
        Stopped: a signal came; the next call goes on where this one was.
        ExperimentError: a step failed, or the run's folder was begun with another recipe or other texts.
    """
    run_dir = place.run_dir(run)
    marks = run_dir / "done"
    marks.mkdir(parents=True, exist_ok=True)
    _claim(run, place, marks / "fingerprint")
    recipe = as_toml(recipe_of(run, place.texts, run_dir))
    (run_dir / "recipe.toml").write_text(recipe, encoding="utf8")
    for step in steps_of(run, place):
        if not (marks / step.name).exists():
            place.execute(step.command, run_dir / "log", stop)
            (marks / step.name).touch()
    gathered = gather(run, place)
    for name in KEPT_FOR_TRAINING:
        shutil.rmtree(run_dir / name, ignore_errors=True)
    return gathered


def gather(run: Run, place: JobDirectory) -> dict[str, Any]:
    """What a finished run left behind, for the results."""
    run_dir = place.run_dir(run)
    checkpoint = run_dir / "checkpoint"
    record = _read(checkpoint / TRAINING_FILE)
    scores = [score for precision in PRECISIONS for score in _read(run_dir / f"scores-{precision}.json")]
    return {
        "run": run.name,
        "arm": run.arm.name,
        "seed": run.seed,
        "fingerprint": place.fingerprint(run),
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
    """What a bundle of one byte a number keeps, over all decoder layers."""

    self_bytes_per_token: int
    """Of the target, for each row."""
    cross_bytes_per_token: int
    """Of the source."""


def cache_bytes(shape: dict[str, Any]) -> CacheBytes:
    """By the sizes of keys and values; where these are one tensor, it is counted once."""
    tensors = 1 if shape["share_kv"] else 2
    size = tensors * shape["decoder_layers"] * shape["d_model"]
    return CacheBytes(size, size)


def count_parameters(weights: Path) -> int:
    """Numbers in a checkpoint; tables that are tied are there once."""
    total = 0
    with safe_open(weights, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 -- not a dict
            size = 1
            for extent in file.get_slice(name).get_shape():
                size *= extent
            total += size
    return total


def _claim(run: Run, place: JobDirectory, mark: Path) -> None:
    wanted = place.fingerprint(run)
    if not mark.exists():
        mark.write_text(wanted, encoding="utf8")
    elif mark.read_text(encoding="utf8") != wanted:
        raise ExperimentError(
            f"{place.run_dir(run)} was begun with another recipe or other texts; choose another --folder "
            "or remove that one"
        )


def _command(place: JobDirectory, module: str, *arguments: str) -> tuple[str, ...]:
    return tuple(module_command(place.niceness, module, *arguments))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf8"))
