"""An imported model computes what Marian's does, and searches as Marian's options say."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.manifest import DecodingDefaults
from export.marian import load, recognises, unpacked
from export.model import Transformer
from export.model.generate import generate_greedy, pad
from tests.every_pair import combinations_with_every_pair
from tests.imports.export.rejections import GERMAN_TO_ENGLISH
from tests.imports.marian.conftest import Tokenizers, Written, write_model
from tests.imports.marian.reference import Reference
from tests.imports.marian.written import DECODER_FFN, TRAINED_POSITIONS, Variant

TOLERANCE = 1e-4


OPTIONS: dict[str, Sequence[Any]] = {
    "norms": (
        {"postprocess": "dan"},
        {"postprocess": "an", "embedding": "n", "top": "n"},
        {"postprocess": "an", "embedding": "nd"},
        {"postprocess": "dan", "top": "dn", "embedding": ""},
    ),
    "activation": ("relu", "swish", "gelu"),
    "tying": ("all", "src", "target", "src+target", "none"),
    "autoregression": ("self-attention", "rnn"),
    "has_trained_positions": (False, True),
    "tied_layers": ((), (1, 1, 1), (1, 2, 1)),
    "has_output_bias": (True, False),
    "has_legacy_output": (True, False),
    "decoder_ffn": (0, DECODER_FFN),
    "encoder_layers": (1, 2),
}


@pytest.mark.parametrize("options", combinations_with_every_pair(OPTIONS), ids=str)
def test_log_probabilities_equal_marians_formulas(
    options: dict[str, Any], tmp_path: Path, tokenizers: Tokenizers
) -> None:
    """Of models in which each option is together with each other one."""
    fields = {name: value for name, value in options.items() if name != "norms"} | options["norms"]
    written = write_model(tmp_path, Variant(**fields), tokenizers)
    original = load(tmp_path, GERMAN_TO_ENGLISH)
    rng = np.random.default_rng(1)
    sources = [_sentence(rng, len(written.source_pieces), length) for length in (1, 5, 9)]
    targets = rng.integers(0, len(written.target_pieces), (3, 7)).tolist()

    found = _log_probabilities(Transformer.from_weights(original.model), sources, targets)

    reference = Reference(written.arrays, written.options)
    expected = np.stack(
        [reference.log_probabilities(source, target) for source, target in zip(sources, targets, strict=True)]
    )
    num_pieces = len(written.target_pieces)
    assert np.abs(found[..., :num_pieces] - expected).max() <= TOLERANCE
    assert (found[..., num_pieces:] == -np.inf).all()  # the start is never said, nor does it take part


@pytest.mark.parametrize("autoregression", ["self-attention", "rnn"])
def test_greedy_search_equals_marians(autoregression: str, tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path, Variant(autoregression=autoregression), tokenizers, seed=3)
    original = load(tmp_path, GERMAN_TO_ENGLISH)
    rng = np.random.default_rng(2)
    sources = [_sentence(rng, len(written.source_pieces), length) for length in range(1, 21)]

    model = Transformer.from_weights(original.model)
    found = generate_greedy(model, *pad(sources, original.model.config.pad_id), 12)

    reference = Reference(written.arrays, written.options)
    assert found == [reference.greedy(source, 12, eos_id=0, forbidden=(1,)) for source in sources]
    assert any(len(target) > 3 for target in found)


def test_unknown_is_never_produced_and_keeps_its_probability(tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path, Variant(), tokenizers)
    likely = written.arrays["decoder_ff_logit_out_b"]
    likely[0, 1] = 20.0  # <unk> is all but certain
    written.save()
    model = Transformer.from_weights(load(tmp_path, GERMAN_TO_ENGLISH).model)
    states = model(*pad([[3, 0]], model.config.pad_id), torch.tensor([[model.config.bos_id]]))

    logprobs = model.log_probabilities(states)[0, 0]

    assert logprobs[1] == -torch.inf
    assert logprobs[2:].exp().sum() < 0.01  # the others do not share it

    (tmp_path / "decoder.yml").write_text("allow-unk: true\n", encoding="utf8")
    assert load(tmp_path, GERMAN_TO_ENGLISH).model.config.suppressed_ids == ()


def test_sinusoidal_positions_are_unlimited_and_trained_ones_are_not(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    write_model(tmp_path / "sines", Variant(), tokenizers)
    write_model(tmp_path / "trained", Variant(has_trained_positions=True), tokenizers)

    assert load(tmp_path / "sines", GERMAN_TO_ENGLISH).model.config.max_positions == 512
    assert load(tmp_path / "trained", GERMAN_TO_ENGLISH).model.config.max_positions == TRAINED_POSITIONS


def test_half_precision_is_read_exactly_and_what_the_model_does_not_use_is_ignored(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    """The option for trained positions without their array, and ranges of Marian's int8."""
    written = write_model(tmp_path, Variant(more={"transformer-train-position-embeddings": True}), tokenizers)
    for name in written.arrays:
        written.arrays[name] = written.arrays[name].astype(np.float16)
    written.save({"encoder_l1_self_Wq_QuantMultA": np.ones((1, 1), np.float32)})

    found = _log_probabilities(
        Transformer.from_weights(load(tmp_path, GERMAN_TO_ENGLISH).model), [[5, 4, 0]], [[2, 3, 4]]
    )

    expected = Reference(written.arrays, written.options).log_probabilities([5, 4, 0], [2, 3, 4])
    assert np.abs(found[0, :, : expected.shape[1]] - expected).max() <= TOLERANCE


def test_tied_layers_get_separate_weights(tmp_path: Path, tokenizers: Tokenizers) -> None:
    write_model(tmp_path, Variant(tied_layers=(1, 1, 1)), tokenizers)
    first, second, _ = Transformer.from_weights(load(tmp_path, GERMAN_TO_ENGLISH).model).decoder_layers()
    weight = second.self_residual.norm.weight
    assert isinstance(weight, torch.Tensor)
    before = weight.clone()

    with torch.no_grad():
        for parameter in first.parameters():
            parameter.zero_()

    assert torch.equal(weight, before)


def _sentence(rng: np.random.Generator, vocab_size: int, length: int) -> list[int]:
    return [*rng.integers(2, vocab_size, length - 1).tolist(), 0]


@torch.inference_mode()
def _log_probabilities(
    model: Transformer, sources: Sequence[list[int]], targets: Sequence[list[int]]
) -> NDArray[np.float32]:
    """Of a padded batch, before anything is suppressed, [B, T, V]."""
    begun = torch.tensor([[model.config.bos_id, *target[:-1]] for target in targets])
    states = model(*pad(list(sources), model.config.pad_id), begun)
    logprobs: NDArray[np.float32] = model.logits(states).log_softmax(dim=-1).numpy()
    return logprobs


UNUSED = "shortlist: [lex.gz, 100, 100]\nmax-length-factor: 2\nwhen: 2020-01-01\nodd: .nan\n"


@pytest.mark.parametrize(
    ("name", "options", "beam_size", "length_penalty"),
    [
        ("decoder.yml", "beam-size: 5\nnormalize: 0.6\n", 5, 0.6),
        ("opus.npz.decoder.yml", "beam-size: 5\nnormalize: 0.6\n", 5, 0.6),
        ("other.yml", "beam-size: 5\n", 12, 0.0),
    ],
)
def test_search_defaults_are_those_of_the_decoder_options_or_else_of_marian(
    name: str, options: str, beam_size: int, length_penalty: float, written: Written
) -> None:
    (written.folder / "decoder.yml").unlink()
    written.write(name, options)

    expected = DecodingDefaults(beam_size, length_penalty, early_stopping=False)
    assert load(written.folder, GERMAN_TO_ENGLISH).decoding == expected


def test_the_origin_records_applied_and_ignored_options(written: Written) -> None:
    written.write("preprocess.sh", "sed")
    written.write("decoder.yml", UNUSED)

    original = load(written.folder, GERMAN_TO_ENGLISH)

    assert original.kind == "Marian npz"
    assert original.origin["version"].startswith("v1.9.0")
    assert original.origin["options"]["transformer-ffn-activation"] == "relu"
    assert original.origin["scripts_not_run"] == ["preprocess.sh"]
    assert original.origin["decoder_options_not_used"] == ["max-length-factor", "odd", "shortlist", "when"]
    json.dumps(original.origin, allow_nan=False)


def test_an_archive_with_one_folder_is_read_in_that_folder(tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path / "files", Variant(autoregression="rnn"), tokenizers)
    archive = shutil.make_archive(str(tmp_path / "opus-2020-02-26"), "zip", written.folder)

    with unpacked(Path(archive)) as folder:
        assert recognises(folder)
        original = load(folder, GERMAN_TO_ENGLISH)
        assert original.source_tokenizer.model.read_bytes() == tokenizers.both
    assert not original.source_tokenizer.model.exists()
    assert original.model.config.autoregression == "ssru"
