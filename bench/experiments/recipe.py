"""The recipe of a run for `python -m training`, and its fingerprint."""

import hashlib
import json
import lzma
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from bench.experiments.plan import SOURCE_LANGUAGE, TARGET_LANGUAGE, Plan, Run
from dragoman.bundle import file_sha256

SNAPSHOT_EVERY_STEPS = 25
THREADS = 1
"""Threads of a training: two concurrent trainings with one thread each do twice the work of one with two.
Another number rounds differently."""

Recipe = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Texts:
    """Parallel text: training pairs in one file, held-out lines in two of equal length."""

    train: Path
    """File of `source⇥target` or `tag⇥source⇥target` lines, possibly compressed as .xz."""
    dev: tuple[Path, Path]
    test: tuple[Path, Path]
    licence: str

    def hashes(self) -> dict[str, str]:
        """Return the hashes of the files, by their use."""
        return {
            "train": file_sha256(self.train),
            "dev": " ".join(map(file_sha256, self.dev)),
            "test": " ".join(map(file_sha256, self.test)),
        }

    def names(self) -> dict[str, str]:
        """Return the names of the files without their folders, by their use."""
        return {
            "train": self.train.name,
            "dev": " ".join(path.name for path in self.dev),
            "test": " ".join(path.name for path in self.test),
        }


def cut(texts: Texts, plan: Plan, folder: Path) -> Texts:
    """Limit the texts to the plan's sizes; beginnings of files are written to `folder`."""
    train = _cut(texts.train, plan.most_pairs, folder / "train.tsv")
    dev, test = (
        (_cut(source, most, folder / f"{name}.source"), _cut(target, most, folder / f"{name}.target"))
        for name, (source, target), most in (
            ("dev", texts.dev, plan.most_dev_lines),
            ("test", texts.test, plan.most_test_lines),
        )
    )
    return Texts(train, dev, test, texts.licence)


def recipe_of(run: Run, texts: Texts, run_dir: Path) -> Recipe:
    """Return a run's recipe with all settings of its arm; new defaults of `training` do not change them."""
    budget = asdict(run.arm.budget)
    average_last, validated_lines = budget.pop("average_last"), budget.pop("validated_lines")
    return {
        "run_dir": str(run_dir),
        "data": {
            "source_language": SOURCE_LANGUAGE,
            "target_language": TARGET_LANGUAGE,
            "max_tokens": run.arm.max_tokens,
        },
        "data.corpora": {
            "name": "train",
            "files": [str(texts.train)],
            "weight": 1.0,
            "licence": texts.licence,
        },
        "vocabulary": asdict(run.arm.vocabulary),
        "model": asdict(run.arm.shape),
        "optimisation": {**budget, "clip_norm": 1.0, "seed": run.seed, "threads": THREADS},
        "validation": {
            "source": str(texts.dev[0]),
            "target": str(texts.dev[1]),
            "every_steps": -(-run.arm.budget.steps // 2),
            "num_lines": validated_lines,
        },
        "checkpoints": {
            "every_minutes": 3.0,
            "snapshot_every_steps": SNAPSHOT_EVERY_STEPS,
            "average_last": average_last,
        },
    }


def as_toml(recipe: Recipe) -> str:
    """Format the recipe as TOML; its plain values look the same in JSON."""
    lines = [_line(key, value) for key, value in recipe.items() if not isinstance(value, Mapping)]
    for name, table in recipe.items():
        if isinstance(table, Mapping):
            header = f"[[{name}]]" if name == "data.corpora" else f"[{name}]"
            lines += ["", header, *(_line(key, value) for key, value in table.items())]
    return "\n".join(lines) + "\n"


def fingerprint(recipe: Recipe, hashes: Mapping[str, str]) -> str:
    """Return a hash of recipe and texts, independent of their paths."""
    tables = {key: value for key, value in recipe.items() if key != "run_dir"}
    tables["data.corpora"] = _without(tables["data.corpora"], "files")
    tables["validation"] = _without(tables["validation"], "source", "target")
    content = json.dumps([tables, dict(hashes)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _without(table: Recipe, *keys: str) -> Recipe:
    return {key: value for key, value in table.items() if key not in keys}


def _line(key: str, value: Any) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _cut(path: Path, most: int | None, to: Path) -> Path:
    if most is None:
        return path
    to.parent.mkdir(parents=True, exist_ok=True)
    with _open(path) as lines:
        to.write_text("".join(islice(lines, most)), encoding="utf8")
    return to


def _open(path: Path) -> IO[str]:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf8")
    return path.open(encoding="utf8")
