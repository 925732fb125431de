"""Search settings of Marian, as far as the engine supports them.

Marian ranks a hypothesis by its log-probability divided by length ** `normalize`, counting the end of
sentence, as the engine does. Marian's beam narrows with each hypothesis that ends, until none is left. The
engine's keeps its width, and ends when no live hypothesis scores better than the worst of its best (that is,
without `early_stopping`). The best hypothesis is almost always the same, but not always.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.decoding.options import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY
from dragoman.manifest import DecodingDefaults
from export.marian.vocabulary import MarianVocabulary

BEAM_SIZE = 12
"""Marian's own default, if no option sets it."""
NORMALIZE = 0.0
"""Marian's own default."""

UNSUPPORTED = ("word-penalty", "output-sampling", "skip-cost", "force-decode", "xml-input")
"""Options that change the output and that the engine does not have."""
WITHOUT_EFFECT = frozenset(
    {
        *("relative-paths", "models", "model", "vocabs", "mini-batch", "maxi-batch", "maxi-batch-sort"),
        *("mini-batch-words", "workspace", "cpu-threads", "devices", "num-devices"),
        *("quiet", "log", "log-level"),
        *("quiet-translation", "input", "output", "n-best", "alignment", "word-scores", "stat-freq", "seed"),
        *("beam-size", "normalize", "allow-unk", "allow-special"),
    }
)


@dataclass(frozen=True, slots=True)
class MarianSearch:
    """Default search of one model."""

    defaults: DecodingDefaults
    allows_unknown: bool
    allows_special: bool
    not_used: tuple[str, ...]
    """Options about speed, limits or shortlists, which the engine chooses itself."""

    def suppressed_ids(self, target: MarianVocabulary) -> tuple[int, ...]:
        """Return the ids that Marian never produces; it removes their scores after the softmax."""
        unknown = () if self.allows_unknown else (target.unk_id,)
        special = () if self.allows_special else target.control_byte_ids
        return tuple(sorted({*unknown, *special}))


def read_search(options: Mapping[str, Any], problems: list[str]) -> MarianSearch:
    """Read the options of Marian's decoder; unsupported ones are added to `problems`."""
    beam_size = options.get("beam-size", BEAM_SIZE)
    normalize = options.get("normalize", NORMALIZE)
    if type(beam_size) is not int or not 1 <= beam_size <= MAX_BEAM_SIZE:
        problems.append(f"beam-size {reprlib.repr(beam_size)} is not between 1 and {MAX_BEAM_SIZE}")
        beam_size = 1
    if isinstance(normalize, bool) or not isinstance(normalize, int | float):
        problems.append(f"normalize {reprlib.repr(normalize)} is not a number")
        normalize = NORMALIZE
    elif not 0 <= normalize <= MAX_LENGTH_PENALTY:
        problems.append(f"normalize {normalize} is not between 0 and {MAX_LENGTH_PENALTY:g}")
        normalize = NORMALIZE
    problems += [
        f"{option} {reprlib.repr(options[option])} is not supported; remove it from the decoder's"
        " options to import the model without it"
        for option in UNSUPPORTED
        if options.get(option)
    ]
    return MarianSearch(
        defaults=DecodingDefaults(beam_size, float(normalize), early_stopping=False),
        allows_unknown=options.get("allow-unk") is True,
        allows_special=options.get("allow-special") is True,
        not_used=tuple(sorted(options.keys() - WITHOUT_EFFECT - set(UNSUPPORTED))),
    )
