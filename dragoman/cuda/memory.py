"""Plan of the GPU memory that a bundle takes, made before any is taken."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.cuda.program import HalfPrograms
from dragoman.manifest import Manifest
from dragoman.native.instructions import NotSupported
from dragoman.scheduling.policy import RESERVED_SHARE, Capacity

MAX_BEAMS = 8
"""Largest beam; wider searches run on onnxruntime."""
MAX_ROWS = 2048
"""Rows of a step from which more make a sentence no cheaper."""
MAX_SOURCES = 2048
MEMORY_SHARE = 2
"""One in this many free bytes is taken."""
MIN_ROWS = 64
"""Fewest rows of the caches that are worth a start."""
HALF_BYTES = 2
ENCODER_TOKENS = 16384
"""Source tokens encoded at once."""
STEPS_AT_ONCE = 8
STEP_ROWS = 4096
"""Fixed cost of steps, in rows or source tokens: beside it that of sources is small."""
BULK_JOIN_STEPS = 3
"""Calls for steps between two joins of bulk sources: on an H100 the encoder's start took 2.4 ms, eight steps
about one."""
PLACE_MULTIPLE = 16


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Numbers of slots, and their sizes in tokens."""

    num_sources: int
    num_rows: int
    source_tokens: int
    target_tokens: int

    def capacity(self, replicas: int) -> Capacity:
        """Return the limits of each replica: both tiers together fit into the slots, with one source more."""
        rows = (self.num_rows - MAX_BEAMS) // replicas
        sources = (self.num_sources - 1) // replicas
        most_rows, most_sources = (
            count * RESERVED_SHARE // (RESERVED_SHARE + 1) for count in (rows, sources)
        )
        return Capacity(
            max_rows=most_rows,
            max_sources=most_sources,
            budget_tokens=most_sources * self.source_tokens,
            encoder_tokens=ENCODER_TOKENS,
            encoder_run_tokens=ENCODER_TOKENS,
            step_rows=STEP_ROWS,
            bulk_join_steps=BULK_JOIN_STEPS,
            max_jobs_with_interactive=max(1, most_sources // RESERVED_SHARE),
            steps_at_once=STEPS_AT_ONCE,
        )


def plan_memory(manifest: Manifest, programs: HalfPrograms, free_bytes: int) -> MemoryPlan:
    """Choose how many sources and rows are kept: as many as help, in half of the free memory.

    Raises:
        NotSupported: there is room for too few.
    """
    sizes, limits = manifest.sizes, manifest.limits
    source_tokens, target_tokens = (
        -(-(most + 1) // PLACE_MULTIPLE) * PLACE_MULTIPLE
        for most in (limits.max_source_tokens, limits.max_target_tokens)
    )
    token_bytes = 2 * sizes.decoder_layers * sizes.heads * sizes.head_size * HALF_BYTES
    row_bytes = token_bytes * target_tokens + target_tokens * source_tokens * HALF_BYTES
    # Of each hypothesis ids, parents and ancestors of all positions; forced ids and norms once.
    history_bytes = target_tokens * (MAX_BEAMS * (4 + 1 + 1) + 4 + 8)
    source_bytes = token_bytes * source_tokens + history_bytes
    left = free_bytes // MEMORY_SHARE - working_bytes(programs, sizes.target_vocab)
    with_reserve = (RESERVED_SHARE + 1) / RESERVED_SHARE
    most_rows, most_sources = int(MAX_ROWS * with_reserve) + MAX_BEAMS, int(MAX_SOURCES * with_reserve) + 1
    num_rows = min(most_rows, left // (row_bytes + source_bytes * most_sources // most_rows))
    if num_rows < MIN_ROWS:
        raise NotSupported(f"the GPU has {free_bytes >> 20} MiB free, which is too little")
    num_sources = max(MIN_ROWS // MAX_BEAMS, min(most_sources, num_rows * most_sources // most_rows))
    return MemoryPlan(num_sources, num_rows, source_tokens, target_tokens)


def working_bytes(programs: HalfPrograms, vocab_size: int) -> int:
    """Return an upper bound of the bytes for weights and the vectors between instructions."""
    linears = sum(each.weight.size + each.bias.size for each in programs.linears)
    tables = programs.output.table.size + sum(
        each.embedding.table.size + each.embedding.positions.size
        for each in (programs.encoder, programs.decoder)
    )
    encoder_width = 3 * max(programs.encoder.widths.values()) + 4 * programs.encoder.embedding.table.shape[1]
    decoder_width = sum(programs.decoder.widths.values()) + vocab_size
    vectors = ENCODER_TOKENS * encoder_width * 2 + MAX_ROWS * decoder_width * 2
    return int(HALF_BYTES * (linears + tables + vectors))


class SlotPool:
    """Free slots of sources and free rows of the caches. Safe to use from several threads."""

    def __init__(self, plan: MemoryPlan) -> None:
        self._sources = deque(range(plan.num_sources))
        self._rows = deque(range(plan.num_rows))
        self._rows_of: dict[int, list[int]] = {}

    def take(self, beam_size: int) -> tuple[int, list[int]]:
        """Return a slot and its rows.

        Raises:
            MemoryError: none is free.
        """
        rows: list[int] = []
        try:
            rows.extend(self._rows.popleft() for _ in range(beam_size))
            slot = self._sources.popleft()
        except IndexError:
            self._rows.extend(rows)
            raise MemoryError("all slots of the GPU's caches are taken") from None
        self._rows_of[slot] = rows
        return slot, rows

    @property
    def num_free(self) -> tuple[int, int]:
        """Number of free slots and of free rows."""
        return len(self._sources), len(self._rows)

    def rows_of(self, slot: int) -> list[int]:
        """Return the rows of a slot that is taken."""
        return self._rows_of[slot]

    def release(self, slots: Sequence[int]) -> None:
        """Free slots and their rows."""
        for slot in slots:
            self._rows.extend(self._rows_of.pop(slot))
            self._sources.append(slot)
