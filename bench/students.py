"""Compare the translations of an imported student with Bergamot's, of the same folder, greedily as both run.

`make .venv-bench/bergamot` installs Bergamot. Each line is one sentence and one request, so that Marian makes
a shortlist of it alone.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.command import Command, Options, show
from bench.processes import run_json
from dragoman import DecodingOptions, Translator
from dragoman.bundle import Bundle, read_bundle
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.types import Pair
from export.bergamot.compressed import decompressed
from export.bergamot.files import GEMM_PRECISION, SHORTLIST, find_files
from export.bergamot.load import WEIGHTS_FIELD
from export.bergamot.weights import RANGES
from export.original import ImportRejectedError
from export.samples import choose_texts

BERGAMOT_PYTHON = Path(".venv-bench") / "bergamot" / "bin" / "python"
LENGTH_FACTOR = 3
"""Limit of a target's tokens with its end, as a multiple of the source's."""
WITH_RANGES, WITHOUT_RANGES = "int8shiftAlphaAll", "int8shiftAll"
SETTINGS = {
    "beam-size": 1,
    "normalize": 1.0,
    "word-penalty": 0,
    "max-length-break": 512,
    "max-length-factor": LENGTH_FACTOR,
    "mini-batch-words": 2048,
    "workspace": 128,
    "skip-cost": True,
    "cpu-threads": 0,
    "quiet": True,
    "quiet-translation": True,
    "ssplit-mode": "sentence",
}


def translate_with_bergamot(config: Path, lines: Sequence[str]) -> list[str]:
    """Return Bergamot's translation of each line."""
    request = {"config": str(config), "lines": list(lines)}
    found: list[str] = run_json("bench.peers.bergamot_translate", python=str(BERGAMOT_PYTHON), given=request)
    return [line.strip() for line in found]


def write_settings(folder: Path, path: Path, *, has_ranges: bool) -> None:
    """Write settings of Bergamot for a folder, without which its files may be."""
    problems: list[str] = []
    files = find_files(folder, problems)
    if files is None:
        raise ImportRejectedError(str(folder), tuple(problems))
    vocabularies = [str(each.resolve()) for each in files.marian.vocabularies]
    settings: dict[str, Any] = {"models": [str(files.marian.model.resolve())], "vocabs": vocabularies}
    if files.lexicon is not None:
        settings[SHORTLIST] = [str(files.lexicon.resolve()), False]
    settings |= {**SETTINGS, GEMM_PRECISION: WITH_RANGES if has_ranges else WITHOUT_RANGES}
    path.write_text(yaml.safe_dump(settings), encoding="utf8")


def translate_with_bundle(bundle: Bundle, lines: Sequence[str], pair: Pair) -> list[str]:
    """Return our translation of each line as one segment, cut where Marian cuts."""
    tokenizers = open_tokenizers(bundle)
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, tokenizers[0])
    sources = preparer.encode(lines, pair)
    options = DecodingOptions(beam_size=1, max_length=bundle.manifest.limits.max_target_tokens)
    with Translator.open(bundle.path, replicas=1) as translator:
        found = translator.search(sources, options, pair=pair)
    ids = [list(best[0].ids)[: LENGTH_FACTOR * len(read)] for best, read in zip(found, sources, strict=True)]
    return [line.strip() for line in tokenizers[1].decode(ids)]


def main() -> None:
    options: Options = {
        "folder of the student": Path,
        "bundle imported from it": Path,
        "--sentences": Path,
    }
    command = Command("students", __doc__, options)
    arguments = command.parse()
    bundle = read_bundle(arguments.bundle)
    has_ranges = RANGES in bundle.manifest.origin.get(WEIGHTS_FIELD, "")
    rows: list[dict[str, Any]] = []
    for text in choose_texts(bundle.manifest.languages, arguments.sentences, str(arguments.folder)):
        with decompressed(arguments.folder) as folder, tempfile.TemporaryDirectory() as scratch:
            config = Path(scratch) / "config.yml"
            write_settings(folder, config, has_ranges=has_ranges)
            theirs = translate_with_bergamot(config, text.lines())
        ours = translate_with_bundle(bundle, text.lines(), text.pair)
        equal = sum(one == other for one, other in zip(ours, theirs, strict=True))
        row = {"pair": str(text.pair), "sentences": len(theirs), "equal": equal}
        rows.append(row | {"distinct": len(set(theirs))})
    show(rows)
    command.write(arguments.bundle, {"sameness": rows})


if __name__ == "__main__":
    main()
