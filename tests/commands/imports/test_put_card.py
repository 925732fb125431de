"""A bundle opens at every moment while its card is replaced."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.errors import BundleError
from export.bundle import CARD_FILE, put_card
from tests.paths import ROOT

KILLING = Path(__file__).parent / "card_killing.py"
FEWEST_KILLS = 15
"""Lines that writing a card runs through, or about: fewer, and the kills are not where they should be."""


@pytest.fixture(autouse=True)
def old_card(bundle: Path) -> None:
    put_card(bundle, open_bundle(bundle).manifest, "# old\n")


def test_a_bundle_with_a_new_card_opens_translates_and_lists_its_hash(bundle: Path) -> None:
    before = open_bundle(bundle).manifest

    put_card(bundle, dataclasses.replace(before, scores={"news": {"bleu": 1.5}}), "# new: ä\n")

    after = open_bundle(bundle).manifest
    assert (bundle / CARD_FILE).read_text(encoding="utf8") == "# new: ä\n"
    assert after.scores == {"news": {"bleu": 1.5}}
    assert (
        after.files.keys()
        == before.files.keys()
        == {path.name for path in bundle.iterdir()} - {"manifest.json"}
    )
    with Translator.open(bundle) as translator:
        assert translator.translate("Guten Morgen!").text == "Good morning!"


def test_a_card_that_was_changed_by_hand_fails_verification(bundle: Path) -> None:
    (bundle / CARD_FILE).write_text("# other\n", encoding="utf8")

    with pytest.raises(BundleError, match=CARD_FILE):
        open_bundle(bundle)


def test_after_a_kill_at_any_line_the_bundle_opens_and_the_update_can_be_repeated(bundle: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(KILLING), str(bundle)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )

    *problems, kills = done.stdout.splitlines()
    assert problems == []
    assert int(kills) >= FEWEST_KILLS
