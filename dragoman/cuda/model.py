"""A bundle's programs, weights, caches and searches on a GPU, and CUDA graphs of decoder steps.

Shapes: B sources of a step, K hypotheses of each, R = B x K rows, T positions of a target, W model width.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.cuda import kernels, search_kernels
from dragoman.cuda.columns import Fact, FinishedFact, RowFact, SourceStatus
from dragoman.cuda.memory import ENCODER_TOKENS, MAX_BEAMS, MAX_ROWS, SlotPool, plan_memory
from dragoman.cuda.program import HalfPrograms, read_programs
from dragoman.cuda.vectors import TILE_ROWS, Vectors
from dragoman.decoding.filters import round_up
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.decoding.utf8 import CANDIDATES_INSIDE, NO_BYTE, SPARE_CANDIDATES, utf8_tables
from dragoman.native.instructions import Instruction, InstructionKind, Program

TILE_COLUMNS, TILE_DEPTH = 64, 64
"""Tiles of products: the same for any number of rows, so that the order of each sum is."""
WIDE_COLUMNS, WIDE_TILE_COLUMNS = 4096, 128
"""Number of columns, such as tokens, from which tiles are wider."""
ATTENTION_QUERIES, ATTENTION_TOKENS = 32, 32
ATTENTION_NUMBERS = 4096
"""Keys of all heads that a row reads at once, as numbers."""
BUCKETS = (
    1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 1280, 1536, 2048,
)  # fmt: skip
"""Numbers of sources for which steps are captured as CUDA graphs; a slot without a source fills them up."""


class CudaModel:
    """A bundle on a device. Its lock is held by whoever uses anything but `slots`."""

    def __init__(self, bundle: Bundle, target: TargetVocabulary, device: str = "cuda") -> None:
        """Load a bundle.

        Args:
            bundle: verified.
            target: the target vocabulary.
            device: `cpu` for Triton's interpreter.

        Raises:
            NotSupported: there are no kernels for the bundle, or too little memory.
        """
        programs, manifest = read_programs(bundle), bundle.manifest
        sizes = manifest.sizes
        self.device = torch.device(device)
        self.is_gpu = self.device.type == "cuda"
        free_bytes = torch.cuda.mem_get_info(self.device)[0] if self.is_gpu else 1 << 28
        self.plan = plan = plan_memory(manifest, programs, free_bytes)
        self.lock = threading.RLock()
        self.slots = SlotPool(plan)
        self.target = target
        self._heads, self._head_size = sizes.heads, sizes.head_size
        self._alignment_layer, heads = manifest.alignment.layer, list(manifest.alignment.heads)
        shares = np.zeros(sizes.heads, np.float32)
        shares[heads] = 1 / len(heads)
        self._alignment_shares = self.put_array(shares)
        self._width = sizes.heads * sizes.head_size
        self._linears = [(self._put(each.weight), self._put(each.bias)) for each in programs.linears]
        self._norms = [(self._put(each.gain), self._put(each.bias), each.epsilon) for each in programs.norms]
        self._programs = programs
        self._embeddings = self._put_embeddings(programs)
        self._output = self._output_weights(programs)
        self._encoder = Vectors(programs.encoder, ENCODER_TOKENS if self.is_gpu else 256, self.device)
        num_rows = MAX_ROWS if self.is_gpu else 64
        self._decoder = Vectors(programs.decoder, num_rows, self.device)
        self._logits = torch.zeros(num_rows, sizes.target_vocab, dtype=torch.float16, device=self.device)
        self.order = torch.zeros(num_rows, dtype=torch.int32, device=self.device)
        self._graphs: dict[tuple[int, int], torch.cuda.CUDAGraph] = {}
        self._bytes_of, self._legal, self._after = self._utf8_tables(target)
        self._allocate(sizes.decoder_layers)

    def _allocate(self, num_layers: int) -> None:
        """Allocate caches and the state of searches, with a slot and a row that stand for no source."""
        plan, device = self.plan, self.device
        slots, rows, capacity = plan.num_sources + 1, plan.num_rows + 1, plan.target_tokens

        def zeros(*shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        half, double = torch.float16, torch.float64
        self._self_caches = [zeros(rows, capacity, 2 * self._width, dtype=half) for _ in range(num_layers)]
        self.cross_caches = [
            zeros(slots, plan.source_tokens, 2 * self._width, dtype=half) for _ in range(num_layers)
        ]
        self.attention = zeros(rows, capacity, plan.source_tokens, dtype=half)
        self.facts, self.rows = zeros(slots, len(Fact)), zeros(slots, MAX_BEAMS, len(RowFact))
        self.facts[-1, Fact.STATUS], self.facts[-1, Fact.SOURCE_LENGTH] = SourceStatus.DONE, 1
        self.rows[-1, :, RowFact.CACHE] = rows - 1
        self.totals = zeros(slots, MAX_BEAMS, dtype=double)
        self.tokens = zeros(slots, capacity, MAX_BEAMS)
        self.parents = zeros(slots, capacity, MAX_BEAMS, dtype=torch.uint8)
        self.ancestors = zeros(slots, MAX_BEAMS, capacity, dtype=torch.uint8)
        self.forced, self.norms = zeros(slots, capacity), zeros(slots, capacity + 1, dtype=double) + 1
        self.scores, self.finals = (zeros(slots, MAX_BEAMS, dtype=double) for _ in range(2))
        self.finished = zeros(slots, MAX_BEAMS, len(FinishedFact))
        self._best_logprobs = zeros(MAX_ROWS, MAX_BEAMS * 2, dtype=torch.float32)
        self._best_ids = zeros(MAX_ROWS, MAX_BEAMS * 2)

    def encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        """Write the cross K/V of sources to their slots, in runs of whole sources, without padding."""
        first, num_tokens = 0, 0
        for index, source in enumerate(sources):
            if num_tokens + len(source) > self._encoder.num_rows:
                self._encode(slots[first:index], sources[first:index])
                first, num_tokens = index, 0
            num_tokens += len(source)
        self._encode(slots[first:], sources[first:])

    def _encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        lengths = np.array([len(source) for source in sources], np.int32)
        begins = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
        num_tokens = int(lengths.sum())
        offsets = np.arange(num_tokens, dtype=np.int32) - begins.repeat(lengths)
        ids = np.array([id_ for source in sources for id_ in source], np.int32)
        num_blocks = -(-lengths // ATTENTION_QUERIES)
        blocks = np.empty((int(num_blocks.sum()), 3), np.int32)
        blocks[:, 0], blocks[:, 1] = begins.repeat(num_blocks), lengths.repeat(num_blocks)
        nth = np.arange(len(blocks)) - (np.cumsum(num_blocks) - num_blocks).repeat(num_blocks)
        blocks[:, 2] = nth * ATTENTION_QUERIES
        # Rows of whole tiles begin at addresses that kernels are compiled for.
        packed = np.zeros((3, -(-num_tokens // TILE_ROWS) * TILE_ROWS), np.int32)
        packed[:, :num_tokens] = ids, offsets, np.array(slots, np.int32).repeat(lengths)
        inputs = {"tokens": self.put_array(packed), "blocks": self.put_array(blocks)}
        self._run(self._programs.encoder, self._encoder, num_tokens, inputs, 0)

    def steps(self, slots: NDArray[np.int32], beam_size: int, num_steps: int) -> NDArray[np.int32]:
        """Make steps for the sources in slots; return their `facts` after them, int32 [B, `Fact`]."""
        most = self._buckets(beam_size)[-1]
        for first in range(0, len(slots), most):
            self._repeat_step(slots[first : first + most], beam_size, num_steps)
        indices = torch.tensor(slots, dtype=torch.int32, device=self.device)
        facts: NDArray[np.int32] = self.facts.index_select(0, indices).cpu().numpy()
        return facts

    def _repeat_step(self, slots: NDArray[np.int32], beam_size: int, num_steps: int) -> None:
        num_sources = len(slots)
        if not self.is_gpu:
            self.order[:num_sources].copy_(torch.from_numpy(slots))
            for _ in range(num_steps):
                self._step(num_sources, beam_size)
            return
        bucket = next(size for size in self._buckets(beam_size) if size >= num_sources)
        order = np.full(bucket, self.plan.num_sources, np.int32)
        order[:num_sources] = slots
        graph = self._graphs.get((beam_size, bucket)) or self._capture(beam_size, bucket)
        self.order[:bucket].copy_(torch.from_numpy(order))
        for _ in range(num_steps):
            graph.replay()

    def logits(self, num_sources: int, beam_size: int) -> Tensor:
        """Extend the rows of the sources that `order` names by their last tokens; return logits [R, V]."""
        num_rows = num_sources * beam_size
        states = self._run(self._programs.decoder, self._decoder, num_rows, {}, beam_size)
        self._multiply(states, self._output[:2], self._logits, num_rows, is_by_row=True)
        return self._logits

    def prepare(self, beam_size: int) -> None:
        """Compile kernels and capture graphs for all buckets, so that no request waits for them."""
        for bucket in self._buckets(beam_size) if self.is_gpu else ():
            if (beam_size, bucket) not in self._graphs:
                self._capture(beam_size, bucket)

    def put_array(self, array: NDArray[Any]) -> Tensor:
        """Copy an array to the device."""
        return torch.tensor(array, device=self.device)

    def _buckets(self, beam_size: int) -> list[int]:
        most = min(self._decoder.num_rows // beam_size, self.plan.num_sources)
        return [size for size in BUCKETS if size < most] + [most]

    def _capture(self, beam_size: int, bucket: int) -> torch.cuda.CUDAGraph:
        """Capture a step of a bucket's slots, for now all without a source."""
        self.order.fill_(self.plan.num_sources)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call] # PyTorch's own
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step(bucket, beam_size)  # compiles what is new
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            self._step(bucket, beam_size)
        self._graphs[beam_size, bucket] = graph
        return graph

    def _step(self, num_sources: int, beam_size: int) -> None:
        """Make one step: logits, candidates, choice."""
        num_rows = num_sources * beam_size
        self.logits(num_sources, beam_size)
        vocab_size, eos = self.target.size, self.target.eos_id
        num_best = min(beam_size + 1, vocab_size)
        num_columns = _power_of_two(num_best)
        between = round_up(beam_size + 1 + SPARE_CANDIDATES, vocab_size)
        logprobs, ids = self._best_logprobs, self._best_ids
        block = _power_of_two(vocab_size)
        search_kernels.pick[(num_rows,)](
            self._logits, self._output[2], self._bytes_of, self._legal, self.order, self.facts, self.rows,
            logprobs, ids,
            K=beam_size, BEAMS=MAX_BEAMS, NUM_BEST=num_best, BETWEEN=between,
            INSIDE=max(between, min(CANDIDATES_INSIDE, vocab_size)), BC=num_columns, EOS=eos,
            HAS_BYTES=bool(self.target.byte_ids), SUPPRESSES=bool(self._programs.output.suppressed),
            V=vocab_size, BV=block, num_warps=min(32, max(4, block // 2048)),
        )  # fmt: skip
        shared = (
            *(logprobs, ids, self._bytes_of, self._after, self.forced),
            *(self.order, self.facts, self.rows, self.totals, self.tokens),
        )
        constants = {"BEAMS": MAX_BEAMS, "BC": num_columns, "EOS": eos, "CAPACITY": self.plan.target_tokens}
        if beam_size == 1:
            search_kernels.advance_greedy[(num_sources,)](*shared, **constants, num_warps=1)
            return
        search_kernels.advance_beam[(num_sources,)](
            *shared, self.parents, self.ancestors, self.norms, self.scores, self.finals, self.finished,
            K=beam_size, NUM_BEST=num_best, BK=_power_of_two(beam_size), BT=32, **constants, num_warps=1,
        )  # fmt: skip

    def _run(
        self,
        program: Program,
        vectors: "Vectors",
        num_rows: int,
        inputs: Mapping[str, Tensor],
        beam_size: int,
    ) -> Tensor:
        """Run a program; return the target of its last instruction."""
        last = None
        for each in program.instructions:
            source = vectors.of.get(each.source)
            last = vectors.of.get(each.target, last)
            match each.kind:
                case InstructionKind.EMBED:
                    self._embed(last, num_rows, inputs, beam_size)
                case InstructionKind.NORM:
                    gain, bias, epsilon = self._norms[each.index]
                    kernels.norm[(num_rows,)](
                        source, gain, bias, last, EPSILON=epsilon, W=self._width, BW=self._width, num_warps=4
                    )
                case InstructionKind.LINEAR | InstructionKind.LINEAR_ADD:
                    other = vectors.of.get(each.other)
                    self._multiply(source, self._linears[each.index], last, num_rows, each, other)
                case InstructionKind.ADD:
                    kernels.add[(num_rows,)](
                        source, vectors.of[each.other], last, W=self._width, BW=self._width
                    )
                case InstructionKind.SELF_ATTENTION | InstructionKind.CROSS_ATTENTION:
                    self._attend(each, source, last, num_rows, inputs, beam_size)
                case InstructionKind.WRITE_CROSS:
                    tokens, cache = inputs["tokens"], self.cross_caches[each.index]
                    constants = {"CAPACITY": self.plan.source_tokens, "W2": 2 * self._width}
                    kernels.write_cross[(num_rows,)](source, tokens[2], tokens[1], cache, **constants)
        assert last is not None, "a program has instructions"  # noqa: S101 -- only a bug
        return last

    def _embed(self, out: Any, num_rows: int, inputs: Mapping[str, Tensor], beam_size: int) -> None:
        ids, offsets = (inputs["tokens"][0], inputs["tokens"][1]) if inputs else (self.rows, self.facts)
        table, positions, factor = self._embeddings[0 if inputs else 1]
        kernels.embed[(num_rows,)](
            ids, offsets, self.order, table, positions, out,
            LAST_POSITION=len(positions) - 1, FACTOR=factor, K=beam_size, BEAMS=MAX_BEAMS,
            W=self._width, BW=self._width,
        )  # fmt: skip

    def _attend(
        self, each: Instruction, x: Any, out: Any, num_rows: int, inputs: Mapping[str, Tensor], beam_size: int
    ) -> None:
        scale = self._head_size**-0.5
        shape = {"SCALE": scale, "H": self._heads, "D": self._head_size}
        if inputs:
            blocks = inputs["blocks"]
            kernels.attend_to_source[(len(blocks), self._heads)](
                x, blocks, out, **shape, BQ=ATTENTION_QUERIES, BT=ATTENTION_TOKENS, num_warps=2
            )
            return
        is_self = each.kind == InstructionKind.SELF_ATTENTION
        caches = self._self_caches if is_self else self.cross_caches
        capacity = self.plan.target_tokens if is_self else self.plan.source_tokens
        kernels.attend[(num_rows,)](
            x, self.order, self.facts, self.rows, self.ancestors, caches[each.index], out,
            self._alignment_shares, self.attention, **shape,
            CAPACITY=capacity, IS_SELF=is_self, K=beam_size, BEAMS=MAX_BEAMS,
            BT=max(2, min(16, ATTENTION_NUMBERS // self._width)), TARGET_CAPACITY=self.plan.target_tokens,
            ALIGNS=not is_self and each.index == self._alignment_layer, num_warps=4,
        )  # fmt: skip

    def _multiply(
        self,
        x: Any,
        linear: tuple[Tensor, Tensor],
        out: Any,
        num_rows: int,
        each: Instruction = Instruction(InstructionKind.LINEAR),  # noqa: B008 -- immutable
        other: Tensor | None = None,
        *,
        is_by_row: bool = False,
    ) -> None:
        weight, bias = linear
        size = len(bias)
        depth = weight.shape[1 if is_by_row else 0]
        columns = TILE_COLUMNS if size < WIDE_COLUMNS else WIDE_TILE_COLUMNS
        kernels.linear[(-(-num_rows // TILE_ROWS), -(-size // columns))](
            x, weight, bias, x if other is None else other, out,
            N=size, K=depth, ACTIVATION=int(each.activation), ALPHA=each.alpha, ADDS=other is not None,
            BY_ROW=is_by_row, BM=TILE_ROWS, BN=columns, BK=TILE_DEPTH, num_warps=4, num_stages=3,
        )  # fmt: skip

    def _put(self, weight: NDArray[Any]) -> Tensor:
        return self.put_array(np.ascontiguousarray(weight, np.float16))

    def _put_embeddings(self, programs: HalfPrograms) -> list[tuple[Tensor, Tensor, float]]:
        """Copy the embeddings of both programs; the same table once."""
        parts = [programs.encoder.embedding, programs.decoder.embedding]
        tables = [self._put(parts[0].table)]
        is_shared = np.array_equal(parts[0].table, parts[1].table)
        tables.append(tables[0] if is_shared else self._put(parts[1].table))
        return [
            (table, self._put(part.positions), float(part.steps[0]))
            for table, part in zip(tables, parts, strict=True)
        ]

    def _output_weights(self, programs: HalfPrograms) -> tuple[Tensor, Tensor, Tensor]:
        """Return table, bias and -inf for suppressed tokens; a tied table is the decoder's embedding."""
        output = programs.output
        is_tied = np.array_equal(output.table, programs.decoder.embedding.table)
        table = self._embeddings[1][0] if is_tied else self._put(output.table)
        suppressed = np.zeros(len(output.bias), np.float32)
        suppressed[list(output.suppressed)] = -np.inf
        return table, self._put(output.bias), self.put_array(suppressed)

    def _utf8_tables(self, target: TargetVocabulary) -> tuple[Tensor, Tensor, Tensor]:
        """Return each token's byte, which bytes may follow in a state, and the state after them."""
        values = np.full(target.size, NO_BYTE, np.int32)
        values[list(target.byte_ids)] = list(target.byte_ids.values())
        legal, after = utf8_tables()
        return self.put_array(values), self.put_array(legal.astype(np.uint8)), self.put_array(after.copy())


def _power_of_two(number: int) -> int:
    """Return the least power of two that is no less."""
    return 1 << (number - 1).bit_length()
