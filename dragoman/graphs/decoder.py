"""Decoder steps on onnxruntime, for rows that join and leave, with the state written in place.

Shapes: B sources, R rows (B x beams, the beams of a source adjacent), K candidates, S source tokens.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnxruntime import IOBinding, OrtValue

from dragoman import contract
from dragoman.bundle import Bundle
from dragoman.decoding.slots import rows_of
from dragoman.graphs.attention import AttentionGraph, BoundAttention, ReturnedAttention, ReturningDecoder
from dragoman.graphs.batch_shortlist import BatchShortlist, inputs_without_shortlist, inputs_without_tokens
from dragoman.graphs.caches import CellCaches, CrossCaches, DecoderState, SelfCaches
from dragoman.graphs.device import Device
from dragoman.graphs.encoder import CrossKV
from dragoman.graphs.memory import Host, MemoryMaker
from dragoman.graphs.session import open_session
from dragoman.graphs.slots import SlottedSteps
from dragoman.providers import SessionOptions
from dragoman.types import SearchKind

MANY_CANDIDATES = 1024
"""Candidates per row above which the bindings of all other step shapes are dropped."""


class Decoder:
    """The decoder graph. Safe to use from several threads, each with its own steps."""

    def __init__(self, bundle: Bundle, options: SessionOptions) -> None:
        sizes = bundle.manifest.sizes
        self.layers = sizes.decoder_layers
        self.row_shape = (sizes.heads, sizes.head_size)
        self.width = sizes.model_width
        self.vocab_size = sizes.target_vocab
        self.cache_dtype = bundle.manifest.cache_dtype
        self.autoregression = bundle.manifest.autoregression
        shape = (self.layers, self.cache_dtype, self.autoregression)
        ports = (contract.decoder_inputs(*shape), contract.decoder_outputs(*shape))
        self.session = open_session(bundle, contract.DECODER_FILE, ports, options)
        written = {port.name for port in ports[1]}
        self.state_ports = _ports(contract.state_names(self.layers, self.autoregression), written)
        self.cross_ports = _ports(contract.cross_names(self.layers), written)
        self.maker = _maker(options, self.cache_dtype)
        self._state_maker = self.maker
        if contract.is_recurrent(self.autoregression) and self.cache_dtype != contract.CELL_DTYPE:
            self._state_maker = _maker(options, contract.CELL_DTYPE)
        self.attention = (
            ReturningDecoder()
            if contract.returns_attention(self.autoregression)
            else AttentionGraph(bundle.manifest, options)
        )
        self.is_on_device = options.device_type is not None

    def open_steps(self, kind: SearchKind) -> "DecoderSteps | SlottedSteps":
        """Create steps without sources."""
        steps = DecoderSteps(self, kind)
        return SlottedSteps(steps, kind.beam_size) if self.is_on_device else steps

    def empty_state(self) -> DecoderState:
        """Create a state without rows."""
        if contract.is_recurrent(self.autoregression):
            return CellCaches(self._state_maker, self.layers, self.width)
        return SelfCaches(self._state_maker, (len(self.state_ports), *self.row_shape), self.cache_dtype)

    def start(self, cross: CrossKV, beam_size: int) -> "DecoderSteps | SlottedSteps":
        """Create steps that start with these sources."""
        steps = self.open_steps(SearchKind(beam_size))
        steps.join(cross)
        return steps


class StepShape(NamedTuple):
    """Shape of a step's inputs and outputs."""

    num_rows: int
    num_best: int
    """K; 0 in forced decoding, which needs no candidates."""
    num_wanted: int
    """Tokens per row whose log-probability is wanted; in forced decoding 1 or 0."""


@dataclass(frozen=True, slots=True)
class BoundStep:
    """An onnxruntime binding for one step shape, and the memory that it uses."""

    binding: IOBinding
    inputs: dict[str, NDArray[Any]]
    outputs: dict[str, NDArray[Any]]
    attention: BoundAttention | ReturnedAttention | None
    """Computes the attention after a step of forced decoding."""
    kept: list[object]
    """Objects that the binding does not keep alive; first the state, which may be bound again."""


class DecoderSteps:
    """The running state of a search: its `Stepper`. Use from one thread, and not after an error."""

    def __init__(self, decoder: Decoder, kind: SearchKind) -> None:
        self._decoder = decoder
        self._beam_size = beam_size = kind.beam_size
        self._is_shortlisted = kind.is_shortlisted
        self._num_rows = 0
        self._longest = 0  # positions in the fullest row
        layers = (len(decoder.cross_ports), *decoder.row_shape)
        self._cross = CrossCaches(decoder.maker, layers, decoder.cache_dtype, beam_size)
        self._shortlists = BatchShortlist(beam_size, decoder.vocab_size, decoder.width)
        self._state = decoder.empty_state()
        self._last_ids = np.zeros(0, np.int64)
        self._lengths = np.zeros(0, np.int32)
        self._total_length = np.zeros((), np.int32)
        self._unused_rows = np.zeros(0, np.int64)
        self._bound_steps: dict[StepShape, BoundStep] = {}

    def join(self, cross: CrossKV, slots: NDArray[np.int64] | None = None) -> None:
        """Begin sources: `beam_size` rows each. `cross` is copied.

        Args:
            cross: cross K/V of the sources.
            slots: where they begin, ascending; after the last slot without a gap. None for after all others.
        """
        if slots is None:
            num_sources = self._num_rows // self._beam_size
            slots = np.arange(num_sources, num_sources + cross.num_sources)
        has_moved = self._cross.join(cross, slots)
        if self._is_shortlisted:
            self._shortlists.join(cross.candidates)  # only with int8 K/V, and so after all others
            has_moved = True
        rows = rows_of(slots, self._beam_size)
        has_moved |= self._state.begin(rows, (self._num_rows, self._longest))
        if has_moved:
            self._bound_steps.clear()
        more = np.zeros(self._state.num_rows - len(self._lengths), np.int64)
        if len(more):
            self._last_ids = np.concatenate([self._last_ids, more])
            self._lengths = np.concatenate([self._lengths, more.astype(np.int32)])
        self._lengths[rows] = 0
        self._num_rows = max(self._num_rows, int(rows[-1]) + 1)

    def release(self, slots: NDArray[np.int64]) -> None:
        """Keep the rows of these slots at length 0, and of no others: no source uses them."""
        self._unused_rows = rows_of(slots, self._beam_size)
        self._cross.release(slots)
        self._lengths[self._unused_rows] = 0
        self._longest = int(self._lengths[: self._num_rows].max(initial=0))

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Extend every row by one token.

        Args:
            last_ids: int64 [R], the tokens picked in the last step.
            num_best: K.

        Returns:
            Log-probabilities float32 [R, K], best first, and their ids int64 [R, K]. Valid until the next
            step only.
        """
        bound = self._prepare(StepShape(self._num_rows, num_best, 0), last_ids)
        self._run(bound)
        return bound.outputs["best_logprobs"], bound.outputs["best_ids"]

    def step_with(
        self, last_ids: NDArray[np.int64], num_best: int, wanted_ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Extend every row by one token, with the log-probabilities of wanted tokens. No shortlist applies.

        Args:
            last_ids: int64 [R], the tokens picked in the last step.
            num_best: K.
            wanted_ids: int64 [R, W].

        Returns:
            Log-probabilities float32 [R, K + W] and ids int64 [R, K + W]: the best of each row, best first,
            then its wanted tokens.
        """
        bound = self._prepare(StepShape(self._num_rows, num_best, wanted_ids.shape[1]), last_ids)
        bound.inputs["candidates"][:] = wanted_ids
        self._run(bound)
        outputs = bound.outputs
        return (
            np.concatenate([outputs["best_logprobs"], outputs["wanted_logprobs"]], axis=1),
            np.concatenate([outputs["best_ids"], wanted_ids], axis=1),
        )

    def read(
        self, last_ids: NDArray[np.int64], wanted_ids: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32]]:
        """Extend every row by one token of a given target. The shortlist does not apply.

        Args:
            last_ids: int64 [R], the tokens that the rows read.
            wanted_ids: int64 [R], the tokens after them; None skips the output projection.

        Returns:
            Log-probabilities float32 [R] of the wanted tokens, as `step` would return them, -inf for tokens
            that the model never produces; None without `wanted_ids`. And the attention of the step, float32
            [R, S]: how much of each source token a row reads, 0 beyond the row's own source. Valid until the
            next step only.
        """
        shape = StepShape(self._num_rows, 0, 0 if wanted_ids is None else 1)
        bound = self._prepare(shape, last_ids)
        if wanted_ids is not None:
            bound.inputs["candidates"][:, 0] = wanted_ids
        self._run(bound)
        assert bound.attention is not None, "the step must return attention"  # noqa: S101 -- only a bug
        attention = bound.attention.run()
        return None if wanted_ids is None else bound.outputs["wanted_logprobs"][:, 0], attention

    def select(self, rows: NDArray[np.int64]) -> None:
        """Continue with `len(rows)` rows: new row i continues old row rows[i].

        Each group of `beam_size` rows still belongs to one source; fewer groups mean that sources leave.
        """
        has_moved = self._state.move(rows, self._longest)
        if len(rows) == self._num_rows:  # beams change places, sources do not
            if has_moved:
                self._bind_state_again()
            return
        self._lengths[: len(rows)] = self._lengths[rows]
        slots = rows[:: self._beam_size] // self._beam_size
        has_moved |= self._cross.keep(slots)
        if self._is_shortlisted:
            self._shortlists.keep(slots)
        self._num_rows = len(rows)
        self._longest = int(self._lengths[: len(rows)].max(initial=0))
        if not len(rows) and self._state.forget():
            self._last_ids, self._lengths = self._last_ids[:0], self._lengths[:0]
            has_moved = True
        if has_moved:
            self._bound_steps.clear()

    def _prepare(self, shape: StepShape, last_ids: NDArray[np.int64]) -> BoundStep:
        """Return the bound step with space for one more position and these tokens as inputs."""
        total_length = self._longest + 1
        if self._state.reserve(total_length, (self._num_rows, self._longest)):
            self._bind_state_again()
        bound = self._bound_steps.get(shape) or self._bind(shape)
        bound.inputs["last_ids"][:] = last_ids
        self._total_length[...] = total_length
        return bound

    def _run(self, bound: BoundStep) -> None:
        if self._decoder.is_on_device:
            self._bind_changed_inputs(bound)
        self._decoder.session.run_with_iobinding(bound.binding)
        lengths = bound.inputs["lengths"]
        np.add(lengths, 1, out=lengths)
        self._longest += 1
        if contract.LISTED_ROWS in bound.outputs:
            self._shortlists.mark_rows_kept()
            self._bound_steps.clear()  # the next step reads the kept rows

    def _bind(self, shape: StepShape) -> BoundStep:
        """Bind all inputs and outputs in onnxruntime, once for each step shape."""
        num_rows = shape.num_rows
        if shape.num_best > MANY_CANDIDATES:
            self._bound_steps.clear()  # for a whole vocabulary one binding takes enough memory
        decoder, cross = self._decoder, self._cross
        binding = decoder.session.io_binding()
        kept: list[object] = [
            self._state.bind(binding, decoder.state_ports, num_rows),
            cross.bind(binding, decoder.cross_ports),
        ]
        # On the CPU these share the arrays' memory: a step reads what is written there later.
        inputs: dict[str, NDArray[Any]] = {
            "last_ids": self._last_ids[:num_rows],
            "lengths": self._lengths[:num_rows],
            "total_length": self._total_length,
            "num_best": np.array(shape.num_best or shape.num_wanted, np.int64),
            **cross.inputs(),
            **self._tokens(shape),
        }
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        outputs: dict[str, NDArray[Any]] = _outputs(shape)
        kept_rows = self._shortlists.kept_rows_buffer(num_rows) if shape.num_best else None
        if kept_rows is not None:
            outputs[contract.LISTED_ROWS] = kept_rows
        for name, array in outputs.items():
            value = OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_output(name, value)
            kept.append(value)
        attention = None if shape.num_best else decoder.attention.bind(binding, cross, num_rows)
        bound = self._bound_steps[shape] = BoundStep(binding, inputs, outputs, attention, kept)
        return bound

    def _tokens(self, shape: StepShape) -> dict[str, NDArray[Any]]:
        """Return the inputs that select the tokens to look at."""
        if shape.num_best and not shape.num_wanted:
            return self._shortlists.inputs(shape.num_rows)
        if shape.num_wanted:
            return inputs_without_shortlist(shape.num_rows, shape.num_wanted, self._decoder.width)
        return inputs_without_tokens(shape.num_rows, self._decoder.width)

    def _bind_state_again(self) -> None:
        """Bind only the state again, which has moved; other bindings stay valid."""
        num_rows = self._num_rows
        self._bound_steps = {
            each: bound for each, bound in self._bound_steps.items() if each.num_rows == num_rows
        }
        for bound in self._bound_steps.values():
            bound.kept[0] = self._state.bind(bound.binding, self._decoder.state_ports, self._num_rows)

    def _bind_changed_inputs(self, bound: BoundStep) -> None:
        """Bind inputs that have changed on the host again: on a device, bound inputs are copies."""
        binding, inputs = bound.binding, bound.inputs
        inputs["lengths"][self._unused_rows] = 0
        for name in ("last_ids", "lengths", "total_length", "candidates"):
            if inputs[name].size:
                binding.bind_cpu_input(name, inputs[name])
        binding.synchronize_inputs()


def _outputs(shape: StepShape) -> dict[str, NDArray[Any]]:
    """Allocate the outputs that the step needs; onnxruntime drops the others."""
    num_rows, num_best, num_wanted = shape
    outputs: dict[str, NDArray[Any]] = {}
    if num_best:
        outputs["best_logprobs"] = np.empty((num_rows, num_best), np.float32)
        outputs["best_ids"] = np.empty((num_rows, num_best), np.int64)
    if num_wanted:
        outputs["wanted_logprobs"] = np.empty((num_rows, num_wanted), np.float32)
    return outputs


def _ports(names: Sequence[str], outputs: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Pair the caches' inputs with the outputs that overwrite them, or ""."""
    return tuple(
        (name, contract.NEW_PREFIX + name if contract.NEW_PREFIX + name in outputs else "") for name in names
    )


def _maker(options: SessionOptions, dtype: contract.CacheDType) -> MemoryMaker:
    if options.device_type is None:
        return Host()
    return Device(options, options.device_type, dtype)
