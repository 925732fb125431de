"""An exported bundle says what CTranslate2 says, which reads the same folder with a program of its own."""

from pathlib import Path

import pytest

from bench import sameness
from bench.models import PEERS_PYTHON
from tests.imports.sameness.exported import Both
from tests.paths import ROOT

READ = ("MarianMTModel", "NllbTokenizer")
"""Of the others CTranslate2 4.8 does not read the files that Transformers 5 writes."""

pytestmark = [
    pytest.mark.examples,
    pytest.mark.skipif(
        not (ROOT / PEERS_PYTHON).is_file(),
        reason="CTranslate2 is not there; `make .venv-bench/.peers` installs it",
    ),
]


def test_greedy_search_is_equal(both: Both, tmp_path: Path) -> None:
    original = both.exported.original
    if not {original.kind, original.origin["tokenizer"]} & set(READ):
        pytest.skip(f"CTranslate2 does not read a {original.kind} of Transformers 5")
    if original.source_tokenizer.vocabulary != original.target_tokenizer.vocabulary:
        pytest.skip("tokens are named by one vocabulary here")

    found = sameness.ours(both.exported.bundle, both.sources, both.pair, both.max_tokens)
    expected = sameness.theirs(
        both.exported.folder, tmp_path / "ct2", both.sources, both.begin, both.max_tokens
    )

    assert found == expected
