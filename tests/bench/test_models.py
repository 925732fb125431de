"""Prepared models are used again only for the checkpoint they were made of."""

from pathlib import Path

from bench.models import COMPLETE, has_origin, origin_of
from tests.paths import TINY

CHECKPOINT = TINY / "checkpoint"


def test_a_folder_that_was_not_finished_or_has_other_weights_is_made_again(tmp_path: Path) -> None:
    origin = origin_of(str(CHECKPOINT))
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.safetensors").write_bytes(b"other weights")
    assert not has_origin(tmp_path, origin)

    (tmp_path / COMPLETE).write_text(origin, encoding="utf8")

    found = [has_origin(tmp_path, one) for one in (origin, origin_of(str(other)), origin_of("opus-size"))]
    assert found == [True, False, False]
