"""Compare translations by the engine's own kernels with those by onnxruntime: how many are equal, BLEU."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.quality import BEAM_SIZES, SETS, EvaluationSet, read_sets, scores_of, translate_all
from dragoman import DecodingOptions, Translation, Translator
from dragoman.providers import Kernels

CHOICES: tuple[Kernels, Kernels] = ("onnxruntime", "native")


def compare(translators: Mapping[str, Translator], one: EvaluationSet, beam_size: int) -> dict[str, Any]:
    """Translate a test set with each translator; return a row of the result.

    `equal` is the number of lines whose segments have the same texts and numbers of tokens.

    Raises:
        EvaluationSetError: the test set cannot be used.
    """
    sources, references = one.lines()
    options = DecodingOptions(beam_size=beam_size, return_scores=False)
    found = {name: translate_all(each, sources, options) for name, each in translators.items()}
    bleu = {name: scores_of([each.text for each in done], references)["bleu"] for name, done in found.items()}
    equal = sum(len(set(map(_key, both))) == 1 for both in zip(*found.values(), strict=True))
    return {"test_set": one.name, "beam_size": beam_size, "lines": len(sources), "equal": equal, "bleu": bleu}


def _key(translation: Translation) -> Sequence[tuple[str, int]]:
    return tuple((segment.text, segment.num_target_tokens) for segment in translation.segments)


def main(words: Sequence[str] | None = None) -> None:
    options: Options = {"bundle": Path, "--beam-size": BEAM_SIZES, "--replicas": 2, **SETS}
    command = Command("kernels", __doc__, options)
    arguments = command.parse(words)
    sets, rows = read_sets(arguments), []
    with ExitStack() as opened:
        translators = {
            each.kernels: opened.enter_context(each)
            for each in (
                Translator.open(arguments.bundle, replicas=arguments.replicas, kernels=choice)
                for choice in CHOICES
            )
        }
        for one, beam_size in product(sets, arguments.beam_size):
            rows.append(compare(translators, one, beam_size))
            show(rows[-1:])
    command.write(arguments.bundle, {"kernels": list(translators), "results": rows})


if __name__ == "__main__":
    main()
