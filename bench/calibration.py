"""What the text of calibration is worth: BLEU of int8 bundles calibrated on real, generated and random text.

`python -m bench.calibration MODEL --set NAME SOURCE REFERENCE --output bench/results/calibration-de-en.json`

The real text is the export's own, for German and English, or that of `--sentences`. Generated lines are what
an import calibrates on if it has no text in the model's languages. Random lines have ids that are all equally
frequent: they show what ranges are worth that nobody measured. The same weights in fp32 are the reference. No
bundle has a shortlist.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from operator import eq
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.command import Command, show
from bench.quality import BEAM_SIZES, SETS, EvaluationSet, read_sets, scores_of, translate_all
from dragoman import DecodingOptions, Translator
from export.bundle import BundleMetadata, write_bundle
from export.calibration import Sample
from export.original import Original, RequestedLanguages
from export.run import UNSPECIFIED, choose_limits, make_samples
from export.samples import GENERATED_LINES, LINE_PIECES, SEED, choose_texts, generate_text
from export.sources import load_original

FP32 = "fp32"
SENTENCES, GENERATED, RANDOM = "sentences", "generated", "random"
"""Texts of calibration, in the order of the result."""

Outputs = dict[tuple[str, int], list[str]]
"""Translations by test set and beam size."""


def make_calibrations(
    original: Original, sentences_file: Path | None, folder: Path
) -> Mapping[str, Sequence[Sample]]:
    """Return the samples by kind of text; `folder` gets the generated text."""
    limits = choose_limits(None, None, original)
    built_in = make_samples(original, limits, choose_texts(original.languages, sentences_file, original.kind))
    generated = make_samples(original, limits, [generate_text(original, folder)])
    config, begin, rng = original.model.config, generated[0].begin, np.random.default_rng(SEED)
    random = [
        Sample(
            [*rng.integers(config.eos_id + 1, config.source_vocab_size, size).tolist(), config.eos_id], begin
        )
        for size in rng.integers(*LINE_PIECES, GENERATED_LINES)
    ]
    return {FP32: (), SENTENCES: built_in, GENERATED: generated, RANDOM: random}


def write_variant(folder: Path, original: Original, samples: Sequence[Sample]) -> None:
    """Write a bundle that is not compared with its original: in int8, or without samples in fp32."""
    metadata = BundleMetadata(folder.name, UNSPECIFIED, choose_limits(None, None, original))
    folder.mkdir()
    write_bundle(folder, original, "int8" if samples else FP32, metadata, samples)


def measure(
    bundle: Path, cases: Sequence[tuple[EvaluationSet, int]], replicas: int, expected: Outputs
) -> Iterator[dict[str, Any]]:
    """Yield a row for each test set and beam size.

    Args:
        bundle: folder of the bundle.
        cases: test sets and beam sizes.
        replicas: of the bundle.
        expected: translations of the cases in fp32, with which the bundle's are compared; the first bundle's
            are added.
    """
    with Translator.open(bundle, replicas=replicas) as translator:
        for one, beam_size in cases:
            sources, references = one.lines()
            options = DecodingOptions(beam_size=beam_size)
            outputs = [output.text for output in translate_all(translator, sources, options)]
            row = {
                "calibration": bundle.name,
                "test_set": one.name,
                "beam_size": beam_size,
                "lines": len(sources),
                "equal_lines": sum(map(eq, outputs, expected.setdefault((one.name, beam_size), outputs))),
            }
            yield row | scores_of(outputs, references)


def main() -> None:
    command = Command(
        "calibration",
        __doc__,
        {"model": Path, "--sentences": Path, "--beam-size": BEAM_SIZES, "--replicas": 2, **SETS},
    )
    arguments = command.parse()
    sets = read_sets(arguments)
    if not sets:
        command.parser.error("at least one --set is needed")
    original = load_original(arguments.model, RequestedLanguages())
    cases = list(product(sets, arguments.beam_size))
    rows: list[dict[str, Any]] = []
    in_fp32: Outputs = {}
    with TemporaryDirectory() as scratch:
        for name, samples in make_calibrations(original, arguments.sentences, Path(scratch)).items():
            bundle = Path(scratch) / name
            write_variant(bundle, original, samples)
            for row in measure(bundle, cases, arguments.replicas, in_fp32):
                rows.append(row)
                show([row])
    pair = next(original.languages.pairs())
    command.write(arguments.model, {"pair": f"{pair.source}-{pair.target}", "results": rows})


if __name__ == "__main__":
    main()
