"""`python -m bench.card` on tiny bundles: what it writes, and what it refuses without writing."""

import io
import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.card import CardError, check_same_model, main, read_result
from dragoman import Translator
from dragoman.bundle import open_bundle, read_bundle
from dragoman.shortlist import SHORTLIST_FILE
from export.bundle import CARD_FILE, put_card, write_manifest
from export.model_card import render_card
from export.shortlist.install import write_shortlist
from tests.bench.tiny_pairs import PAIRS, write_sides
from tests.engine.test_shortlists import shortlist_of_all
from tests.paths import ROOT, TINY

CREDIT = "own work, CC0"
LINES = 12


class Done(NamedTuple):
    """How the command ended."""

    status: int
    said: str


def run(*arguments: str | Path) -> Done:
    """`python -m bench.card`, in this process: to begin one takes seconds."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(said), redirect_stdout(said):
        patch.setattr(sys, "argv", ["bench.card", *map(str, arguments)])
        patch.chdir(ROOT)
        try:
            status = main()
        except SystemExit as ended:
            status = int(ended.code or 0)
    return Done(status, said.getvalue())


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with two bundles of one model, and a test set."""

    folder: Path

    @property
    def bundle(self) -> Path:
        return self.folder / "de-en"

    @property
    def fp32(self) -> Path:
        return self.folder / "fp32"

    @property
    def result(self) -> Path:
        return self.folder / "card.json"

    def read_result(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.result.read_text(encoding="utf8"))
        return content

    def read_card(self) -> str:
        return (self.bundle / CARD_FILE).read_text(encoding="utf8")

    def measure(self, *more: str | Path) -> Done:
        files = (self.folder / "own.de", self.folder / "own.en")
        return run(
            *(self.bundle, "--fp32", self.fp32, "--set", "own|lines", *files, "--output", self.result), *more
        )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def train(bundle: Path, changes: Mapping[str, Any]) -> None:
    """Change the bundle's record of its training."""
    manifest = read_bundle(bundle).manifest
    write_manifest(bundle, replace(manifest, origin={**manifest.origin, **changes}))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("card"))
    shutil.copytree(TINY / "bundle-int8", place.bundle)
    shutil.copytree(TINY / "bundle-fp32", place.fp32)
    for bundle in (place.bundle, place.fp32):
        train(bundle, {"steps": 20, "pairs_seen": 100})
    manifest = read_bundle(place.bundle).manifest
    put_card(place.bundle, manifest, render_card(manifest, "- It is *tiny*."))
    write_shortlist(place.bundle, shortlist_of_all(manifest), {"pairs": 50})
    write_sides(place.folder, "own", PAIRS[:LINES])
    events = [
        {"step": 10, "pairs_seen": 50, "train_seconds": 1.0, "loss": None, "bleu": 11.5, "chrf": 31.5},
        {"step": 20, "pairs_seen": 100, "train_seconds": 2.0, "loss": 1.0, "bleu": None, "chrf": None},
    ]
    history = place.folder / "history.jsonl"
    history.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf8")
    more: list[str | Path] = ["--examples", "own|lines", CREDIT, "--history", "1", history]

    done = place.measure(*more, "--beside", place.fp32, "--rounds", "1")

    assert done.status == 0, done.said
    return place


def test_the_bundle_opens_afterwards_vouches_for_its_card_and_translates(measured: Place) -> None:
    manifest = open_bundle(measured.bundle).manifest

    assert {CARD_FILE, SHORTLIST_FILE} < manifest.files.keys()
    with Translator.open(measured.bundle) as translator:
        assert translator.translate("Guten Morgen!").text == "Good morning!"


def test_the_manifest_has_every_variant_by_search_with_signatures_and_the_bundles_own_scores_on_top(
    measured: Place,
) -> None:
    score = open_bundle(measured.bundle).manifest.scores["own|lines"]

    searched = [(one["precision"], one["shortlist"], one["beam_size"]) for one in score["variants"]]
    assert searched == [
        *(("fp32", False, beam) for beam in (1, 4)),
        *(("int8", False, beam) for beam in (1, 4)),
        *(("int8", True, beam) for beam in (1, 4)),
    ]
    shipped = score["variants"][-1]
    assert all(score[key] == shipped[key] for key in ("beam_size", "bleu", "chrf"))
    assert score["lines"] == LINES
    assert score["bleu_signature"].startswith("nrefs:1|case:mixed")
    assert score["chrf_signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6")
    assert score["bleu"] > 90, "it knows these lines by heart"


def test_the_card_has_shape_quality_cost_examples_with_credit_learning_curve_and_limits(
    measured: Place,
) -> None:
    card, result = measured.read_card(), measured.read_result()

    assert card.endswith("\n## Known limits\n\n- It is *tiny*.\n")
    assert "A pre-norm Transformer with 2 encoder and 2 decoder layers" in card
    assert f"| own\\|lines | {LINES} | greedy |" in card
    assert "| with tiny-fp32 beside it |" in card
    assert f"Of own\\|lines ({CREDIT}), beam 4, as shipped." in card
    assert "| 10 | " in card
    assert "as shipped; one round.\n" in card
    assert "| 1 | 50 | 11.5 | 31.5 |" in card
    assert result["provenance"]["cpu"] in card


def test_the_result_names_no_folder_that_means_nothing_elsewhere(measured: Place) -> None:
    result = measured.read_result()

    assert str(measured.folder) not in measured.result.read_text(encoding="utf8")
    assert "--set 'own|lines' own.de own.en" in result["provenance"]["command"]
    assert result["memory"]["loaded_bytes"] > result["memory"]["before_bytes"] > 0
    assert result["memory"]["beside"]["name"] == "tiny-fp32"
    sizes = [path.stat().st_size for path in measured.bundle.iterdir() if path.suffix not in {".md", ".json"}]
    assert result["size_bytes"] == sum(sizes)


def test_a_stored_result_is_written_without_measuring(measured: Place, tmp_path: Path) -> None:
    before = contents(measured.bundle)
    again = Place(tmp_path)
    shutil.copytree(measured.bundle, again.bundle)
    manifest = read_bundle(again.bundle).manifest
    put_card(again.bundle, replace(manifest, scores={}), render_card(manifest, "- It is *tiny*."))

    done = run(again.bundle, "--from", measured.result, "--output", again.result)

    assert done.status == 0, done.said
    assert contents(again.bundle) == before
    assert again.read_result() == measured.read_result()


def test_a_result_of_other_files_is_rejected_and_the_bundle_unchanged(
    measured: Place, tmp_path: Path
) -> None:
    other = Place(tmp_path)
    shutil.copytree(TINY / "bundle-int8", other.bundle)
    before = contents(other.bundle)

    done = run(other.bundle, "--from", measured.result, "--output", other.result)

    assert done.status == 1
    assert "was measured on other files" in done.said
    assert contents(other.bundle) == before
    assert not other.result.exists()


def test_a_file_that_is_not_a_result_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text('{"results": []}', encoding="utf8")

    with pytest.raises(CardError, match="no result of this command"):
        read_result(path, read_bundle(TINY / "bundle-int8"))


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"steps": 7}, "origin"), ({"shape": None, "shortlist": {}, "kind": "x"}, None)],
    ids=["another record", "another export of one record"],
)
def test_two_bundles_are_one_model_if_their_records_are(
    changes: dict[str, Any], named: str | None, tmp_path: Path
) -> None:
    shutil.copytree(TINY / "bundle-fp32", tmp_path, dirs_exist_ok=True)
    train(tmp_path, changes)
    bundle, fp32 = read_bundle(TINY / "bundle-int8"), read_bundle(tmp_path)

    if named is None:
        check_same_model(bundle, fp32)
        return
    with pytest.raises(CardError, match=f"is not the model of .*: {named} differ"):
        check_same_model(bundle, fp32)


def test_weights_to_compare_with_are_those_as_trained() -> None:
    with pytest.raises(CardError, match="is a bundle in int8, not in fp32"):
        check_same_model(read_bundle(TINY / "bundle-int8"), read_bundle(TINY / "bundle-int8"))


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ((("good", "two"), ("bad", "one")), "--set bad: 2 source lines, 1 reference lines"),
        ((("good", "two"), ("good", "two")), "--set good is there twice"),
    ],
)
def test_test_sets_have_a_reference_a_line_and_a_name_each(
    sets: tuple[tuple[str, str], ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "two").write_text("a\nb\n", encoding="utf8")
    (tmp_path / "one").write_text("a\n", encoding="utf8")
    words = [word for name, file in sets for word in ("--set", name, tmp_path / "two", tmp_path / file)]

    done = run(TINY / "bundle-int8", "--fp32", TINY / "bundle-fp32", *words)

    assert done.status == 1
    assert message in done.said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("models/de-en", "--fp32 and at least one --set are needed"),
        ("models/de-en --history one x", "--history: the run is a number, from 1"),
        ("x --fp32 y --set a b c --examples d CC0", "--examples d is none of the test sets"),
    ],
)
def test_arguments_that_do_not_fit_together_are_reported(arguments: str, message: str) -> None:
    done = run(*arguments.split())

    assert done.status == 2
    assert message in done.said
