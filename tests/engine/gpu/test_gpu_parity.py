"""An fp16 bundle answers like the fp32 one on the CPU, on a GPU as well as there."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from dragoman import DecodingOptions, InputError, Translator
from dragoman.bundle import open_bundle
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.manifest import ModelLimits
from dragoman.providers import EXECUTION_PROVIDERS, Provider, SessionOptions
from dragoman.text.tokenizer import Tokenizer
from export import checkpoint_import
from export.bundle import BundleMetadata, write_bundle
from export.original import RequestedLanguages
from tests.paths import TINY

FP32 = TINY / "bundle-fp32"
SENTENCES = [line.split("\t")[0] for line in (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()]
NUM_STEPS = 40  # self K/V grow twice


def on_gpu(provider: Provider) -> object:
    is_there = EXECUTION_PROVIDERS[provider] in onnxruntime.get_available_providers()
    reason = f"{EXECUTION_PROVIDERS[provider]} is not in this onnxruntime; see docs/guides/gpu.md"
    return pytest.param(
        SessionOptions(providers=(provider,)),
        id=provider,
        marks=[pytest.mark.gpu, pytest.mark.skipif(not is_there, reason=reason)],
    )


PLACES = [pytest.param(SessionOptions(), id="cpu"), on_gpu("cuda")]
AS_DEVICE = pytest.param(SessionOptions(keeps_memory_on_device=True), id="cpu-as-device")


@pytest.fixture(scope="module")
def fp16(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fp16")
    facts = BundleMetadata("tiny-fp16", "none", ModelLimits(48, 64))
    write_bundle(folder, checkpoint_import.load(TINY / "checkpoint", RequestedLanguages()), "fp16", facts, [])
    return folder


def logprobs(
    path: Path, session: SessionOptions, sources: list[list[int]], targets: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Of every token after every target token, [R, T, V]; half of the sources join after four steps."""
    bundle = open_bundle(path)
    vocab_size = bundle.manifest.sizes.target_vocab
    beams, half = len(targets) // len(sources), len(sources) // 2
    encoder = Encoder(bundle, session)
    steps = Decoder(bundle, session).start(encoder.run(sources[:half]), beams)
    found = np.full((*targets.shape, vocab_size), np.nan, np.float32)
    first = half * beams
    for step in range(targets.shape[1] + 4):
        if step == 4:
            steps.join(encoder.run(sources[half:]))
        fed = targets[:first, min(step, targets.shape[1] - 1)]
        if step >= 4:
            fed = np.concatenate([fed, targets[first:, step - 4]])
        best, ids = steps.step(fed, vocab_size)
        if step < targets.shape[1]:
            np.put_along_axis(found[:first, step], ids[:first], best[:first], axis=1)
        if step >= 4:
            np.put_along_axis(found[first:, step - 4], ids[first:], best[first:], axis=1)
    return found


@pytest.mark.parametrize("session", [*PLACES, AS_DEVICE])
def test_log_probabilities_are_near(fp16: Path, session: SessionOptions) -> None:
    """A mixed-up row or position moves some of them by several units, rounding by hundredths."""
    tokenizer = Tokenizer.load(FP32 / "source.spm")
    eos_id = open_bundle(FP32).manifest.special_ids.eos
    sources = [[*pieces, eos_id] for pieces in tokenizer.encode(SENTENCES[:12])]
    targets = np.random.default_rng(4).integers(4, 300, (3 * len(sources), NUM_STEPS))

    expected = logprobs(FP32, SessionOptions(), sources, targets)
    found = logprobs(fp16, session, sources, targets)

    assert not np.isnan(found).any()
    assert 0 < np.abs(found - expected).max() < 0.1


@pytest.mark.parametrize("session", PLACES)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_most_sentences_are_translated_alike(fp16: Path, session: SessionOptions, beam_size: int) -> None:
    options = DecodingOptions(beam_size=beam_size)
    with (
        Translator.open(FP32, replicas=1) as reference,
        Translator.open(fp16, replicas=1, providers=session.providers) as translator,
    ):
        expected = [reference.translate(sentence, options).text for sentence in SENTENCES]
        alone = [translator.translate(sentence, options).text for sentence in SENTENCES]
        outcomes = translator.translate(SENTENCES, options)

    together = [outcome.text for outcome in outcomes if not isinstance(outcome, InputError)]
    for found in (alone, together):
        same = sum(ours == theirs for ours, theirs in zip(found, expected, strict=True))
        assert same >= 0.95 * len(expected)
