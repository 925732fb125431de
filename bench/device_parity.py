"""Compare a bundle on a provider, such as a GPU, with the same bundle on the CPU.

`python -m bench.device_parity models/de-en-fp16 --provider cuda --set flores-dev SOURCE REFERENCE` counts
equal texts, compares log-probabilities, and translates texts alone and together. The bundle has one pair.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from bench.command import Command, Options, Words, show
from bench.quality import BEAM_SIZES, EvaluationSet, scores_of, translate_all
from bench.throughput import gpu_names
from dragoman import DecodingOptions, Translator
from dragoman.bundle import open_bundle
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.providers import SessionOptions, parse_providers
from dragoman.types import Hypothesis

Row = dict[str, Any]


def translate_texts(translator: Translator, lines: list[str], beam_size: int) -> list[str]:
    """Translate lines together; raise the error of the first that cannot be translated."""
    return [one.text for one in translate_all(translator, lines, DecodingOptions(beam_size=beam_size))]


def search_best(translator: Translator, sources: list[list[int]], beam_size: int) -> list[Hypothesis]:
    """Search for all sources together; return the best hypothesis of each."""
    return [found[0] for found in translator.search(sources, DecodingOptions(beam_size=beam_size))]


def compare_texts(
    device: Translator, cpu: Translator, lines: list[str], references: list[str], beam_size: int
) -> Row:
    """Count identical texts and score both."""
    ours, theirs = (translate_texts(one, lines, beam_size) for one in (device, cpu))
    scored = (("fp16_gpu", ours), ("fp16_cpu", theirs))
    bleu = {name: scores_of(texts, references)["bleu"] for name, texts in scored}
    return {"lines": len(lines), "identical": _count_equal(ours, theirs), "bleu": bleu}


def compare_search(device: Translator, cpu: Translator, sources: list[list[int]], beam_size: int) -> Row:
    """Count equal ids, and compare the log-probabilities of those targets."""
    ours, theirs = (search_best(one, sources, beam_size) for one in (device, cpu))
    differences = _logprob_differences(ours, theirs)
    return {
        "segments": len(sources),
        "same_ids": len(differences),
        "max_difference_of_sum_of_logprobs": max(differences, default=None),
        "mean_difference_of_sum_of_logprobs": sum(differences) / max(1, len(differences)),
    }


def compare_loads(device: Translator, lines: list[str], sources: list[list[int]], beam_size: int) -> Row:
    """Translate each text alone and twice with all others; count equal texts, ids and bits."""
    alone = [device.translate(line, DecodingOptions(beam_size=beam_size)).text for line in lines]
    together, again = (translate_texts(device, lines, beam_size) for _ in range(2))
    single = [search_best(device, [source], beam_size)[0] for source in sources]
    batch, batch_again = (search_best(device, sources, beam_size) for _ in range(2))
    differences, differences_twice = (_logprob_differences(found, batch) for found in (single, batch_again))
    return {
        "lines": len(lines),
        "same_text_alone_and_together": _count_equal(alone, together),
        "same_text_together_twice": _count_equal(again, together),
        "same_ids_alone_and_together": len(differences),
        "same_logprob_bits_alone_and_together": differences.count(0.0),
        "same_logprob_bits_together_twice": differences_twice.count(0.0),
        "max_difference_of_sum_of_logprobs": max(differences, default=None),
        "same_ids_together_twice": len(differences_twice),
        "max_difference_together_twice": max(differences_twice, default=None),
    }


def compare_scores(device: Translator, cpu: Translator, lines: list[str], targets: list[str]) -> Row:
    """Compare the log-probabilities of the tokens of given targets."""
    found = []
    for translator in (device, cpu):
        futures = [translator.score(*pair) for pair in zip(lines, targets, strict=True)]
        tokens = chain.from_iterable(future.result().tokens or () for future in futures)
        found.append([token.logprob for token in tokens])
    differences = [abs(ours - theirs) for ours, theirs in zip(*found, strict=True)]
    count = len(differences)
    return {"tokens": count, "max_difference_of_logprob": max(differences), "mean": sum(differences) / count}


def _count_equal(ours: Sequence[str], theirs: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(ours, theirs, strict=True))


def _logprob_differences(ours: Sequence[Hypothesis], theirs: Sequence[Hypothesis]) -> list[float]:
    """Return the differences of the sums of log-probabilities where the ids are equal."""
    pairs = zip(ours, theirs, strict=True)
    return [abs(one.logprob - other.logprob) for one, other in pairs if one.ids == other.ids]


def main(words: Sequence[str] | None = None) -> None:
    options: Options = {
        "bundle": Path,
        "--provider that is compared with the CPU, such as cuda": "cuda",
        "--set a test set, one text per line": Words(("NAME", "SOURCE", "REFERENCE"), "required"),
        "--lines of the set": 200,
        "--loads lines that are translated alone and together": 64,
    }
    command = Command("device_parity", __doc__, options)
    arguments = command.parse(words)
    name, *files = arguments.set
    lines, references = (each[: arguments.lines] for each in EvaluationSet(name, *map(Path, files)).lines())
    bundle, providers = open_bundle(arguments.bundle), parse_providers(arguments.provider)
    languages, limits = bundle.manifest.languages, bundle.manifest.limits
    preparer = Preparer(languages, limits, open_tokenizers(bundle)[0])
    encoded = preparer.encode(lines, next(iter(languages.pairs())))
    few = lines[: arguments.loads], encoded[: arguments.loads]
    rows: dict[str, Row] = {}
    with (
        Translator.open(arguments.bundle, providers=providers, replicas=1) as device,
        Translator.open(arguments.bundle) as cpu,
    ):
        for size in BEAM_SIZES:
            rows[f"texts_beam_{size}"] = compare_texts(device, cpu, lines, references, size)
            rows[f"search_beam_{size}"] = compare_search(device, cpu, encoded, size)
            rows[f"loads_beam_{size}"] = compare_loads(device, *few, size)
        targets = translate_texts(cpu, lines, BEAM_SIZES[-1])
        rows["forced"] = compare_scores(device, cpu, lines, targets)
    show({"compared": each, **row} for each, row in rows.items())
    figures = {"provider": arguments.provider, "gpus": gpu_names(), "test_set": name, "lines": len(lines)}
    command.write(arguments.bundle, {**figures, **rows}, SessionOptions(providers=providers))


if __name__ == "__main__":
    main()
