"""A recipe small enough to train in seconds."""

import copy
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.reading.reading_file import READING_FILE
from tests.cases import read_cases
from tests.imports.export.conftest import run_main
from tests.made_once import make_once
from tests.paths import MODELS
from training.config import Corpus, TrainingConfig
from training.corpus import TextPair
from training.history import History
from training.run import train
from training.token_corpus import IDS_DTYPE, TokenCorpus
from training.variants.copies import copied
from training.variants.inserts import Languages

__all__ = ["run_main"]

FEW_STEPS = {"steps": 2, "warmup_steps": 1, "decay_steps": 1}
"""Settings of [optimisation] for tests in which a run only has to reach its end."""

Recipe = dict[str, Any]
Pairs = list[tuple[str, str]]
WriteRecipe = Callable[[Recipe], Path]

MADE = {"name": "made", "generated_pairs": 30, "weight": 0.1, "licence": "CC0-1.0"}
"""A corpus without files."""

READING_FILES = tuple(MODELS / name / READING_FILE for name in ("de-en", "en-de"))
GERMAN_TO_ENGLISH = ("de", "en")
ENGLISH_TO_GERMAN = ("en", "de")

SUBJECTS = (
    ("Der Hund", "The dog"),
    ("Die Katze", "The cat"),
    ("Das Kind", "The child"),
    ("Meine Schwester", "My sister"),
    ("Unser Nachbar", "Our neighbour"),
    ("Jeder Bauer", "Every farmer"),
)
VERBS = (
    ("schläft", "sleeps"),
    ("singt", "sings"),
    ("läuft", "runs"),
    ("wartet", "waits"),
    ("frühstückt", "has breakfast"),
)
PLACES = (
    ("im Garten", "in the garden"),
    ("heute Abend", "this evening"),
    ("am Bodensee", "at the lake"),
    ("zwischen Häusern", "between houses"),
)


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    """120 distinct sentences with their translations."""
    return [
        (f"{subject[0]} {verb[0]} {place[0]}.", f"{subject[1]} {verb[1]} {place[1]}.")
        for subject, verb, place in itertools.product(SUBJECTS, VERBS, PLACES)
    ]


@pytest.fixture
def recipe(tmp_path: Path, pairs: Pairs) -> Recipe:
    """A whole config, its files and its run folder in the test's own folder; tests change what they need."""
    return make_recipe(tmp_path, pairs)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, pairs: Pairs) -> Recipe:
    def run(folder: Path) -> None:
        recipe = make_recipe(folder, pairs)
        train(TrainingConfig.model_validate(recipe))
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf8")

    folder = make_once(tmp_path_factory, "finished", run)
    return dict(json.loads((folder / "recipe.json").read_text(encoding="utf8")))


@pytest.fixture
def finished_recipe(finished: Recipe, tmp_path: Path) -> Recipe:
    """The recipe of a finished run, whose run folder is a copy that a test may change."""
    recipe = copy.deepcopy(finished)
    shutil.copytree(recipe["run_dir"], tmp_path / "run")
    return recipe | {"run_dir": str(tmp_path / "run")}


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no history: it takes longer than so small a run."""
    monkeypatch.setattr(History, "plot", lambda _: None)


@pytest.fixture
def write_recipe(tmp_path: Path) -> WriteRecipe:
    """Writes a recipe as TOML."""

    def write(recipe: Recipe) -> Path:
        path = tmp_path / "recipe.toml"
        path.write_text("".join(f"{key} = {to_toml(value)}\n" for key, value in recipe.items()), "utf8")
        return path

    return write


def to_toml(value: object) -> str:
    """A value on one line; JSON spells strings, numbers and booleans as TOML does."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {to_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    return json.dumps(value)


def change(recipe: Recipe, changes: Mapping[str, object]) -> None:
    """Set keys that are named as in messages, such as `data.corpora.0.weight`."""
    for name, value in changes.items():
        section: Any = recipe
        *outer, key = name.split(".")
        for part in outer:
            section = section[int(part) if part.isdigit() else part]
        section[key] = value


def make_recipe(folder: Path, pairs: Pairs) -> Recipe:
    corpus, source, target = folder / "pairs.tsv", folder / "dev.de", folder / "dev.en"
    corpus.write_text("".join(f"{de}\t{en}\n" for de, en in pairs), encoding="utf8")
    source.write_text("".join(f"{de}\n" for de, _ in pairs[:5]), encoding="utf8")
    target.write_text("".join(f"{en}\n" for _, en in pairs[:5]), encoding="utf8")
    recipe = read_cases(__file__)
    recipe["run_dir"] = str(folder / "run")
    recipe["data"]["corpora"][0]["files"] = [str(corpus)]
    recipe["validation"] |= {"source": str(source), "target": str(target)}
    return recipe


def corpus_of(variants: Mapping[str, float], name: str = "tiny") -> Corpus:
    return Corpus.model_validate(
        {
            "name": name,
            "files": ["x.tsv"],
            "weight": 1.0,
            "licence": "CC0-1.0",
            "variants": variants,
            "reading_files": READING_FILES,
        }
    )


def copies_of(
    pairs: list[TextPair],
    variants: Mapping[str, float],
    seed: int = 1,
    languages: Languages = GERMAN_TO_ENGLISH,
) -> list[tuple[TextPair, str, TextPair]]:
    """Each copy, behind its pair and the name of its variant."""
    found = copied(pairs, corpus_of(variants), seed, languages)
    return [(pair, name, copy) for pair, copies in found for name, copy in copies]


def token_corpus(sides: Iterable[list[int]]) -> TokenCorpus:
    """A corpus of ids: sources and their targets in turn."""
    parts = [np.array(side, IDS_DTYPE) for side in sides]
    return TokenCorpus(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))
