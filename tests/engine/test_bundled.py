"""Bundled models are found by their names."""

from pathlib import Path

import pytest

from dragoman.bundled import bundled_models, find_bundle


def test_a_name_is_a_bundled_model_unless_there_is_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_bundle("de-en") == bundled_models() / "de-en"
    assert find_bundle("models/de-en") == Path("models/de-en")
    assert find_bundle("none") == Path("none")
    (tmp_path / "de-en").mkdir()
    assert find_bundle("de-en") == Path("de-en")
