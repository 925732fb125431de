"""What a caller asks for, checked against what the bundle can do."""

import math
import reprlib
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from dragoman.decoding.options import DecodingOptions, SearchOptions
from dragoman.errors import InputError
from dragoman.manifest import Manifest
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.replica import SegmentRequest
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.validation import check_text
from dragoman.types import Pair, Priority

MAX_PREFIXES = 16
"""Target prefixes of which the ids are kept."""


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """What all segments of one call have in common; nothing is left open."""

    options: SearchOptions
    pair: Pair
    prefix: tuple[int, ...] = ()
    """Ids that the target of a text's first segment begins with."""
    priority: Priority = Priority.JOB
    deadline_s: float = math.inf
    """On the clock of `time.monotonic`."""
    timeout_s: float = math.inf
    flow: Flow = field(default_factory=Flow)
    """The request, as the scheduler knows it."""
    cache_partition: str = ""
    """Known segments are those of this partition; see `SegmentCache`."""
    segment_requests: list[SegmentRequest] = field(default_factory=list)
    """All that were made, so that they can be given up."""

    def within(self, timeout_s: float) -> "ResolvedRequest":
        """The same, given up so many seconds from now."""
        return replace(self, deadline_s=time.monotonic() + timeout_s, timeout_s=timeout_s)

    def part_of(self, flow: Flow | None) -> "ResolvedRequest":
        """The same, as part of a request; None for one of its own."""
        return self if flow is None else replace(self, flow=flow)

    def again(self) -> "ResolvedRequest":
        """The same for another text, whose segment requests are given up by themselves."""
        return replace(self, segment_requests=[])


class RequestResolver:
    """Puts a bundle's own answers where a caller has none. Safe for several threads."""

    def __init__(self, manifest: Manifest, tokenizer: Tokenizer) -> None:
        self._manifest = manifest
        self._tokenizer = tokenizer
        # All texts of a request have the same one.
        self._prefix_ids = lru_cache(MAX_PREFIXES)(partial(self.target_ids, field="target_prefix"))

    def resolve(
        self,
        options: DecodingOptions,
        pair: Pair | None,
        priority: Priority,
        timeout_s: float | None = None,
        cache_partition: str = "",
    ) -> ResolvedRequest:
        """What a caller asks for, with the bundle's own answers where it does not say.

        Raises:
            InputError: an option is beyond the model's limits.
            UnsupportedPair: no such pair, or none was named.
        """
        most = self._manifest.limits.max_target_tokens
        for name, value in (("max_length", options.max_length), ("min_length", options.min_length)):
            if value is not None and value > most:
                raise InputError(
                    name, f"{reprlib.repr(value)} is over this model's limit of {most} tokens a segment"
                )
        source, target = (None, None) if pair is None else pair
        defaults = self._manifest.decoding
        resolved = options.resolve(defaults.beam_size, defaults.length_penalty, defaults.early_stopping)
        served = self._manifest.languages.pair(source, target)
        prefix = self._prefix_ids(options.target_prefix)
        request = ResolvedRequest(resolved, served, prefix, priority, cache_partition=cache_partition)
        return request if timeout_s is None else request.within(timeout_s)

    def target_ids(self, text: str, field: str) -> tuple[int, ...]:
        """Ids of a text in the target's language; an InputError names the field where it cannot be read."""
        try:
            check_text(text, None)
        except InputError as error:
            raise InputError(field, error.problem) from error
        (ids,) = self._tokenizer.encode([text])
        return tuple(ids)


def check_one_row(options: SearchOptions) -> None:
    """Raise an InputError where what is told token by token could change its mind."""
    if options.beam_size > 1:
        problem = f"wants greedy search; set beam_size to 1, not {options.beam_size}"
    elif options.num_hypotheses > 1:
        problem = f"wants a single draw; set num_hypotheses to 1, not {options.num_hypotheses}"
    else:
        return
    raise InputError("on_token", problem)
