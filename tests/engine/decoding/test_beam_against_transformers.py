"""Beam search finds what `generate` of Hugging Face Transformers 5 finds with the same model and options.

The models are tiny and random: what they say means nothing, but hypotheses compete, end at all lengths, and
some reach the limit.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MarianConfig, MarianMTModel

from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.engine.decoding.fake_stepper import Candidates, Ids, Prefix
from tests.engine.decoding.reference_search import Found
from tests.examples import FEW, FEWEST

VOCAB_SIZE, EOS, PAD = 40, 0, 39
MAX_LENGTH = 20
"""As Transformers counts: with the token that starts the decoder."""
NUM_INPUTS = 20 if FEW > FEWEST else 6
pytestmark = pytest.mark.examples
Model = Any
"""A `MarianMTModel`: its own types do not know that it generates."""


@dataclass(frozen=True)
class SearchCase:
    """How to search, in the words of Transformers."""

    length_penalty: float
    early_stopping: bool
    forced_bos_token_id: int | None
    min_length: int = 0
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0


CASES = [
    *(SearchCase(*options) for options in product((0.6, 1.0, 2.0), (False, True), (None, 7))),
    SearchCase(0.0, early_stopping=False, forced_bos_token_id=None),
    SearchCase(1.0, early_stopping=False, forced_bos_token_id=None, min_length=8),
    SearchCase(1.0, early_stopping=True, forced_bos_token_id=7, min_length=MAX_LENGTH),
]
FILTERED = [
    SearchCase(1.0, penalty < 2, forced, least, penalty, size)
    for (penalty, size), (forced, least) in product(
        ((1.3, 0), (4.0, 0), (1.0, 1), (1.0, 2), (1.0, 3), (1.3, 2)), ((None, 0), (7, 8))
    )
]


@pytest.fixture(scope="module", params=[(1, 16, 0.3, 2.0), (0, 32, 0.2, 3.0)], ids=str)
def model(request: pytest.FixtureRequest) -> Model:
    """An OPUS-MT model but for its size; never says the padding that starts its decoder.

    Its numbers were found by trial, so that hypotheses have all lengths.
    """
    seed, width, spread, end_bias = request.param
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=VOCAB_SIZE,
        d_model=width,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
        init_std=spread,
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
    )
    model: Model = MarianMTModel(config)
    model.eval()
    model.final_logits_bias[0, EOS] = end_bias
    model.final_logits_bias[0, PAD] = -torch.inf
    return model


@dataclass(frozen=True)
class Inputs:
    """Sentences of 1 to 9 words, as the decoder wants them."""

    ids: torch.Tensor
    """int64 [B, S]."""
    mask: torch.Tensor
    """int64 [B, S]."""
    states: torch.Tensor
    """float32 [B, S, N]."""


@pytest.fixture(scope="module")
def inputs(model: Model) -> Inputs:
    random = np.random.default_rng(5)
    ids = torch.full((NUM_INPUTS, 10), PAD)
    for row in ids:
        length = int(random.integers(1, 10))
        row[:length] = torch.from_numpy(random.integers(EOS + 1, PAD, length))
        row[length] = EOS
    mask = (ids != PAD).long()
    with torch.no_grad():
        return Inputs(ids, mask, model.get_encoder()(ids, mask).last_hidden_state)


class TorchStepper:
    """A `Stepper` that runs the whole decoder again at each step."""

    def __init__(self, model: Model, inputs: Inputs, numbers: Sequence[int], beam_size: int) -> None:
        self.model = model
        self.inputs = inputs
        self.numbers = torch.tensor(numbers).repeat_interleave(beam_size)
        """Which input a row belongs to."""
        self.read = torch.zeros((len(self.numbers), 0), dtype=torch.int64)

    def join(self, encoded: object) -> None:
        raise NotImplementedError

    def step(self, last_ids: Ids, num_best: int) -> Candidates:
        self.read = torch.cat([self.read, torch.from_numpy(last_ids)[:, None]], dim=1)
        with torch.no_grad():
            logits: torch.Tensor = self.model(
                encoder_outputs=(self.inputs.states[self.numbers],),
                attention_mask=self.inputs.mask[self.numbers],
                decoder_input_ids=self.read,
                use_cache=False,
            ).logits[:, -1]
        best = logits.log_softmax(dim=-1).topk(num_best)
        return best.values.numpy(), best.indices.numpy()

    def select(self, rows: Ids) -> None:
        self.read, self.numbers = self.read[rows], self.numbers[rows]


def source_of(options: SearchCase, num_hypotheses: int) -> Source:
    forced = options.forced_bos_token_id
    return Source(
        ids=(),
        limits=TargetLimits(MAX_LENGTH - 1, max(options.min_length - 1, 0)),
        begin=(PAD,) if forced is None else (PAD, forced),
        length_penalty=options.length_penalty,
        num_hypotheses=num_hypotheses,
        early_stopping=options.early_stopping,
        repetition_penalty=options.repetition_penalty,
        no_repeat_ngram_size=options.no_repeat_ngram_size,
    )


def search_all(
    model: Model, inputs: Inputs, kind: SearchKind, search_cases: Sequence[SearchCase]
) -> dict[SearchCase, list[list[Hypothesis]]]:
    """Every input with all kinds of options, together in one search."""
    requested = [(options, number) for number in range(NUM_INPUTS) for options in search_cases]
    beam_size = kind.beam_size
    stepper = TorchStepper(model, inputs, [number for _, number in requested], beam_size)
    sources = [source_of(options, beam_size) for options, _ in requested]
    found = search(stepper, make_strategy(sources, kind, TargetVocabulary(EOS, VOCAB_SIZE)))
    results: dict[SearchCase, list[list[Hypothesis]]] = {options: [] for options in search_cases}
    for (options, _), hypotheses in zip(requested, found, strict=True):
        results[options].append(hypotheses)
    return results


def generate(model: Model, inputs: Inputs, options: SearchCase, beam_size: int) -> list[list[Found]]:
    """All that Transformers returns for each input, best first."""
    results = model.generate(
        inputs.ids,
        attention_mask=inputs.mask,
        num_beams=beam_size,
        num_return_sequences=beam_size,
        max_length=MAX_LENGTH,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        **asdict(options),
    )
    num_begin = 1 if options.forced_bos_token_id is None else 2
    rows = results.sequences.tolist()
    found = [
        Found(said(row[num_begin:]), score, FinishReason.STOP if EOS in row else FinishReason.LENGTH)
        for row, score in zip(rows, results.sequences_scores.tolist(), strict=True)
    ]
    return [found[begin : begin + beam_size] for begin in range(0, len(found), beam_size)]


def said(row: list[int]) -> Prefix:
    """What comes before the end of sentence, and the padding after it."""
    return tuple(row[: row.index(EOS)] if EOS in row else row)


@pytest.mark.parametrize(
    ("kind", "cases"),
    [
        *((SearchKind(beam_size), CASES) for beam_size in (2, 5)),
        *((SearchKind(beam_size, method=Method.FILTERED), FILTERED) for beam_size in (2, 4)),
    ],
    ids=lambda value: str(value) if isinstance(value, SearchKind) else "",
)
def test_all_hypotheses_are_those_of_transformers_in_its_order(
    model: Model, inputs: Inputs, kind: SearchKind, cases: list[SearchCase]
) -> None:
    ours = search_all(model, inputs, kind, cases)

    for options in cases:
        theirs = generate(model, inputs, options, kind.beam_size)
        for number, (found, expected) in enumerate(zip(ours[options], theirs, strict=True)):
            case = (options, number)
            assert [one.ids for one in found] == [one.ids for one in expected], case
            assert [one.finish_reason for one in found] == [one.finish_reason for one in expected], case
            scores = [one.score for one in expected]
            assert [one.score for one in found] == pytest.approx(scores, rel=1e-4, abs=1e-4), case
