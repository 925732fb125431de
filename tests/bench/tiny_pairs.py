"""Sentences that the tiny model knows by heart, as sources and references of benchmarks."""

from collections.abc import Sequence
from pathlib import Path

from tests.paths import TINY

Pairs = Sequence[tuple[str, str]]


def read_pairs() -> Pairs:
    lines = (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()
    return [(source, target) for source, target in (line.split("\t") for line in lines)]


PAIRS = read_pairs()


def write_sides(folder: Path, name: str, pairs: Pairs) -> list[str]:
    """Write sources and references, a line each; return the paths of both files."""
    paths = [folder / f"{name}.{language}" for language in ("de", "en")]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf8")
    return list(map(str, paths))
