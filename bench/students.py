"""Compare the translations of imported students with Bergamot's, of the same folders.

`make .venv-bench/bergamot` installs Bergamot. Each line is one sentence and one request, so that Marian makes
a shortlist of it alone. `python -m bench.small_student` makes a trained student of several kinds.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.command import Command, Options, Words, show
from bench.processes import run_json
from bench.quality import scores_of
from dragoman import DecodingOptions, Translator
from dragoman.bundle import Bundle, read_bundle
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.types import Pair
from export.bergamot.binary import INTGEMM8
from export.bergamot.compressed import decompressed
from export.bergamot.files import GEMM_PRECISION, SHORTLIST, SKIP_COST, find_files
from export.bergamot.load import WEIGHTS_FIELD
from export.bergamot.weights import RANGES
from export.original import ImportRejectedError

BERGAMOT_PYTHON = Path(".venv-bench") / "bergamot" / "bin" / "python"
LENGTH_FACTOR = 3
"""Limit of a target's tokens with its end, as a multiple of the source's."""
WITH_RANGES, WITHOUT_RANGES = "int8shiftAlphaAll", "int8shiftAll"
FLOAT = "float32"
SETTINGS = {
    "normalize": 1.0,
    "word-penalty": 0,
    "max-length-break": 512,
    "max-length-factor": LENGTH_FACTOR,
    "mini-batch-words": 2048,
    "workspace": 128,
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


def write_settings(folder: Path, path: Path, precision: str, beam_size: int) -> None:
    """Write settings of Bergamot for a folder, without which its files may be."""
    problems: list[str] = []
    files = find_files(folder, problems)
    if files is None:
        raise ImportRejectedError(str(folder), tuple(problems))
    vocabularies = [str(each.resolve()) for each in files.marian.vocabularies]
    settings: dict[str, Any] = {"models": [str(files.marian.model.resolve())], "vocabs": vocabularies}
    if files.lexicon is not None:
        settings[SHORTLIST] = [str(files.lexicon.resolve()), False]
    settings |= {**SETTINGS, GEMM_PRECISION: precision, "beam-size": beam_size, SKIP_COST: beam_size == 1}
    path.write_text(yaml.safe_dump(settings), encoding="utf8")


def translate_with_bundle(bundle: Bundle, lines: Sequence[str], pair: Pair, beam_size: int) -> list[str]:
    """Return our translation of each line as one segment, cut where Marian cuts."""
    tokenizers = open_tokenizers(bundle)
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, tokenizers[0])
    sources = preparer.encode(lines, pair)
    options = DecodingOptions(beam_size=beam_size, max_length=bundle.manifest.limits.max_target_tokens)
    with Translator.open(bundle.path, replicas=1) as translator:
        found = translator.search(sources, options, pair=pair)
    ids = [list(best[0].ids)[: LENGTH_FACTOR * len(read)] for best, read in zip(found, sources, strict=True)]
    return [line.strip() for line in tokenizers[1].decode(ids)]


def marian_precision(bundle: Bundle) -> str:
    """Return how Marian multiplies with the weights that a bundle was imported from."""
    stored = str(bundle.manifest.origin.get(WEIGHTS_FIELD, ""))
    if INTGEMM8 not in stored:
        return FLOAT
    return WITH_RANGES if RANGES in stored else WITHOUT_RANGES


def compare(
    folder: Path, bundle: Bundle, beam_size: int, lines: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return Bergamot's translations of a folder, and those of the bundle that was imported from it."""
    with decompressed(folder) as plain, tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "config.yml"
        write_settings(plain, config, marian_precision(bundle), beam_size)
        theirs = translate_with_bergamot(config, lines)
    pair = next(bundle.manifest.languages.pairs())
    return theirs, translate_with_bundle(bundle, lines, pair, beam_size)


def main() -> None:
    options: Options = {
        "--student and the bundle imported from it": Words(("FOLDER", "BUNDLE"), "several"),
        "--sentences": Path,
        "--references translations of the sentences, for BLEU": Path,
        "--beam-sizes": (1,),
        "--lines maximum number of sentences": 1000,
    }
    command = Command("students", __doc__, options)
    arguments = command.parse()
    if not arguments.student or arguments.sentences is None:
        command.parser.error("--student and --sentences are needed")
    lines = arguments.sentences.read_text(encoding="utf8").splitlines()[: arguments.lines]
    references = None
    if arguments.references is not None:
        references = arguments.references.read_text(encoding="utf8").splitlines()[: arguments.lines]
    rows: list[dict[str, Any]] = []
    for folder, name in arguments.student:
        bundle = read_bundle(Path(name))
        for beam_size in arguments.beam_sizes:
            theirs, ours = compare(Path(folder), bundle, beam_size, lines)
            row = {
                "student": Path(folder).name,
                "precision": bundle.manifest.precision,
                "beam_size": beam_size,
                "sentences": len(lines),
                "equal": sum(one == other for one, other in zip(ours, theirs, strict=True)),
                "distinct": len(set(theirs)),
            }
            if references is not None:
                found = {"bergamot_bleu": theirs, "bleu": ours}
                row |= {name: scores_of(outputs, references)["bleu"] for name, outputs in found.items()}
            rows.append(row)
            show(rows[-1:])
    command.write(Path(arguments.student[0][1]), {"students": rows})


if __name__ == "__main__":
    main()
