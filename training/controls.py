"""Control pieces: vocabulary pieces that no text can spell and that carry a request's options to the model.

They are reserved when a vocabulary is made, because it cannot grow later. In training text a control is a
Unicode noncharacter, which clean text never contains and normalisation keeps.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import sentencepiece

from training.config import GERMAN, TrainingConfig

TERM: Final = "<term>"
"""Stands before a source term with a required translation."""
TRANSLATION: Final = "<translation>"
"""Stands between the source term and its required translation."""
TERM_END: Final = "</term>"
FORMAL: Final = "<formal>"
"""Stands at the beginning of a source: address people formally, as with German Sie."""
INFORMAL: Final = "<informal>"

BACK_TRANSLATED: Final = "<control-0>"
"""Stands at the beginning of a source that a model has written."""

NUM_SPARE = 12
CONTROLS: Final = (
    TERM,
    TRANSLATION,
    TERM_END,
    FORMAL,
    INFORMAL,
    "<2de>",
    "<2en>",
    *(f"<control-{number}>" for number in range(NUM_SPARE)),
)
"""All control pieces in the order of their ids. Vocabularies name the last `NUM_SPARE` by number; the first
of them is `BACK_TRANSLATED`, the others have no meaning yet."""

_FIRST_MARK = 0xFDD0
_MARKS = {control: chr(_FIRST_MARK + number) for number, control in enumerate(CONTROLS)}
_CONTROL_OF = {mark: control for control, mark in _MARKS.items()}
_ANY_MARK = re.compile(f"([{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + len(CONTROLS) - 1)}])")


def controls_record(config: TrainingConfig) -> dict[str, dict[str, Any]]:
    """Return the controls that a run trains, with their pieces, for the checkpoint's record."""
    variants = [corpus.variants for corpus in config.data.corpora]
    is_german = GERMAN in {direction.target for direction in config.trained_directions}
    record: dict[str, dict[str, Any]] = {}
    if any(one.terms for one in variants):
        record["terms"] = {"begin": TERM, "translation": TRANSLATION, "end": TERM_END}
    if is_german and any(one.formality for one in variants):
        record["formality"] = {"formal": FORMAL, "informal": INFORMAL, "targets": [GERMAN]}
    return record


def mark(control: str) -> str:
    """Return the character that stands for a control piece in training text."""
    return _MARKS[control]


def has_control(text: str) -> bool:
    """Return whether a text contains the mark of a control piece."""
    return _ANY_MARK.search(text) is not None


def encode(processor: sentencepiece.SentencePieceProcessor, texts: Sequence[str]) -> list[list[int]]:
    """Encode texts with the end-of-sentence id, and each mark as the id of its control piece.

    The text between two marks is encoded separately, as words of its own.
    """
    ids: list[list[int]] = processor.encode(list(texts), add_eos=True)
    for index, text in enumerate(texts):
        if has_control(text):
            ids[index] = _encode_with_controls(processor, text)
    return ids


def _encode_with_controls(processor: sentencepiece.SentencePieceProcessor, text: str) -> list[int]:
    ids: list[int] = []
    for part in _ANY_MARK.split(text):
        if part in _CONTROL_OF:
            ids.append(processor.piece_to_id(_CONTROL_OF[part]))
        else:
            ids += processor.encode(part.strip())
    return [*ids, processor.eos_id()]
