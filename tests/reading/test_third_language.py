"""A grammar, a `reading.toml` and a bundle are all that another language needs."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.bundle import read_bundle
from dragoman.errors import BundleError
from dragoman.languages import Languages
from dragoman.loading import open_reading, open_tokenizers
from dragoman.reading import grammars
from dragoman.reading.reader import Reader
from dragoman.reading.reading_file import READING_FILE, load_reading
from dragoman.routing.routes import Offer, Route, Step
from dragoman.types import Pair
from export.bundle import write_manifest
from export.reading import write_reading

LATIN_TO_GREEK = Pair("la", "el")
TABLE = """
[la]
grammar = "latin"
readings = ["numbers_in_words", "respelling"]
also_words = ["art."]

[la.before_words]
"art." = "articulus"
"ad ex." = "ad exemplum"

[la.after_number]
"lb." = ["libra", "librae"]
"""
TEXT = "Habet centum equos et, ad ex., 20 lb. auri, mille art. Marcus."
READ = "Habet 100 equos et, ad exemplum, 20 librae auri, 1000 art. Marcus."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a bundle of another pair, whose grammar is in the package of grammars."""
    monkeypatch.setattr(grammars, "__path__", [*grammars.__path__, str(Path(__file__).parent / "grammars")])
    bundle = tmp_path / "la-el"
    shutil.copytree(Path(__file__).parents[1] / "tiny" / "bundle-fp32", bundle)
    manifest = read_bundle(bundle).manifest
    ((source,), (target,)) = manifest.languages.sources.values(), manifest.languages.targets.values()
    write_manifest(bundle, replace(manifest, languages=Languages({"la": source}, {"el": target})))
    (tmp_path / "own.toml").write_text(TABLE, "utf-8")
    write_reading(bundle, tmp_path / "own.toml")
    return bundle


def test_texts_of_another_language_are_read_as_its_file_says(folder: Path) -> None:
    reading = open_reading(read_bundle(folder))
    offer = Offer("la-el", "la-el", read_bundle(folder).manifest.languages, reading=reading)
    found = Route((Step(offer, LATIN_TO_GREEK),)).read(TEXT)

    assert reading.names == ("abbreviations", "numbers_in_words", "respelling")
    assert found is not None
    assert found.text == READ
    tokenizer, _ = open_tokenizers(read_bundle(folder))
    assert Reader(tokenizer, reading).read(TEXT, "la").ids == tokenizer.encode([READ])[0]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("[xx]\n", "reading.toml: [xx] is no table of a source language: la"),
        ('[la]\ngrammar = "greek"\n', "reading.toml: [la] 'grammar' there is no grammar 'greek'"),
        ('[la]\ngrammar = "../x"\n', "there is no grammar '../x'"),
        ('[la]\nreadings = ["clock"]\n', "reading.toml: [la] 'readings' 'clock' is none of respelling"),
        ("[la]\nreadings = 5\n", "reading.toml: [la] 'readings' must be words of at most 80 characters"),
        ("[la]\ncolour = 5\n", "reading.toml: [la] 'colour' is unknown"),
        ("[la]\ngroup_tokens = -1\n", "reading.toml: [la] 'group_tokens' must be a number of tokens"),
        ("[la]\ngroup_tokens = true\n", "reading.toml: [la] 'group_tokens' must be a number of tokens"),
        ('[la.anywhere]\n"5." = "x"\n', "reading.toml: [la.anywhere] '5.' must have letters"),
        ('[la.anywhere]\n"ad." = []\n', "reading.toml: [la.anywhere] 'ad.' must be words, or a list"),
        ("[la\n", "reading.toml: Expected"),
    ],
)
def test_a_wrong_file_is_rejected_by_table_and_key(tmp_path: Path, table: str, problem: str) -> None:
    path = tmp_path / READING_FILE
    path.write_text(table, "utf-8")

    with pytest.raises(BundleError, match=re.escape(problem)):
        load_reading(path, ["la"])
