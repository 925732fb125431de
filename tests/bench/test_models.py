"""Prepared models are used again only for the checkpoint they were made of."""

from pathlib import Path

from bench.models import COMPLETE, has_origin, origin_of

CHECKPOINT = Path(__file__).parents[1] / "tiny" / "checkpoint"


def test_a_folder_that_was_not_finished_is_made_again(tmp_path: Path) -> None:
    assert not has_origin(tmp_path, origin_of(str(CHECKPOINT)))


def test_a_folder_made_of_other_weights_is_made_again(tmp_path: Path) -> None:
    origin = origin_of(str(CHECKPOINT))
    (tmp_path / COMPLETE).write_text(origin, encoding="utf8")
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.safetensors").write_bytes(b"other weights")

    assert has_origin(tmp_path, origin)
    assert not has_origin(tmp_path, origin_of(str(other)))
    assert not has_origin(tmp_path, origin_of("opus-size"))
