"""Search settings that `generate` of `transformers` would use for a model.

They are in generation_config.json or, in older folders, in config.json. Supported: num_beams, length_penalty,
early_stopping, decoder_start_token_id, forced_bos_token_id, bad_words_ids and suppress_tokens of single
tokens, renormalize_logits, max_length and max_new_tokens. forced_eos_token_id sets the last token of a target
that `max_length` cuts; here such a target is cut, and reported as cut. Settings that do not change the output
are ignored, all others are rejected by name.
"""

import reprlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.huggingface.fields import ConfigFields
from export.huggingface.files import CONFIG_FILE, GENERATION_FILE, JsonFiles

_KNOWN: Mapping[str, Any] = tomllib.loads(
    (Path(__file__).parent / "generation_settings.toml").read_text(encoding="utf8")
)
SUPPORTED = frozenset[str](_KNOWN["supported"])
WITHOUT_EFFECT: Mapping[str, list[object]] = _KNOWN["without_effect"]
"""Settings that change the output, with the values that do not; a missing setting does not either."""
IGNORED = frozenset[str](_KNOWN["ignored"])


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """Search settings in the terms of `generate`."""

    beam_size: int = 1
    length_penalty: float = 1.0
    early_stopping: bool = False
    max_target_tokens: int | None = None
    """Maximum target length, with forced tokens and the end-of-sentence id, but without the start."""
    decoder_start: int | None = None
    """Id that begins every target; None if the settings do not say."""
    bos_id: int | None = None
    """Beginning-of-sentence id, a possible start if `decoder_start` is None."""
    forced_first: int | None = None
    """Id that follows the start of every target."""
    eos_id: int
    pad_id: int
    forbidden: tuple[int, ...] = ()
    """Ids that are never produced."""
    is_renormalised: bool = False
    """Whether the probability of forbidden ids goes to the other ids."""


def read_generation(
    settings: JsonFiles, eos_id: int, pad_id: int, vocab_size: int, problems: list[str]
) -> GenerationSettings:
    """Read the settings and add unsupported ones to `problems`.

    Args:
        settings: settings of the folder.
        eos_id: the model's id, used if the search settings have none.
        pad_id: likewise.
        vocab_size: size of the target vocabulary.
        problems: problems are added here.
    """
    content, name = _generation_settings(settings)
    problems += _unsupported_settings(content, name)
    fields = ConfigFields(content, name, problems)
    beam_size = fields.count("num_beams", 1)
    own_eos, own_pad = fields.index("eos_token_id"), fields.index("pad_token_id")
    eos_id = eos_id if own_eos is None else own_eos
    forced_last = fields.index("forced_eos_token_id")
    if forced_last not in (None, eos_id):
        problems.append(f"{name}: forced_eos_token_id {forced_last} is not the end-of-sentence id {eos_id}")
    start, first = fields.index("decoder_start_token_id"), fields.index("forced_bos_token_id")
    beyond = [
        f"{name}: id {used} is not in the vocabulary of {vocab_size}"
        for used in (start, first)
        if used is not None and used >= vocab_size
    ]
    problems += beyond
    return GenerationSettings(
        beam_size=beam_size,
        length_penalty=fields.number("length_penalty", 1.0),
        early_stopping=_read_early_stopping(content.get("early_stopping"), beam_size, name, problems),
        max_target_tokens=_longest_target(fields, content),
        decoder_start=start,
        bos_id=fields.index("bos_token_id"),
        forced_first=first,
        eos_id=eos_id,
        pad_id=pad_id if own_pad is None else own_pad,
        forbidden=_read_forbidden(content, name, eos_id, vocab_size, problems),
        is_renormalised=fields.flag("renormalize_logits", default=False),
    )


def _generation_settings(settings: JsonFiles) -> tuple[Mapping[str, Any], str]:
    """Return the search settings, and the name of their file."""
    if settings.generation is not None:
        return settings.generation, GENERATION_FILE
    known = SUPPORTED | WITHOUT_EFFECT.keys() | IGNORED
    return {name: value for name, value in settings.config.items() if name in known}, CONFIG_FILE


def _unsupported_settings(content: Mapping[str, Any], name: str) -> list[str]:
    """Return the settings that are unknown, or that would change the output without being supported."""
    problems: list[str] = []
    for setting, value in content.items():
        if value is None or setting in SUPPORTED or setting in IGNORED or setting.startswith("_"):
            continue
        if setting not in WITHOUT_EFFECT:
            problems.append(f"{name}: {setting} is not supported by this release")
        elif value not in WITHOUT_EFFECT[setting]:
            problems.append(f"{name}: {setting} {reprlib.repr(value)} is not supported")
    return problems


def _read_early_stopping(value: object, beam_size: int, name: str, problems: list[str]) -> bool:
    """Return whether a search ends once its beam is full of finished hypotheses; False without a beam."""
    if beam_size == 1 or value is None:
        return False
    if not isinstance(value, bool):
        problems.append(f"{name}: early_stopping {reprlib.repr(value)} is not supported")
    return value is True


def _longest_target(fields: ConfigFields, content: Mapping[str, Any]) -> int | None:
    """Return the limit without the start, which `max_length` counts and `max_new_tokens` does not."""
    if content.get("max_new_tokens") is not None:
        return fields.count("max_new_tokens", 1)
    if content.get("max_length") is not None:
        return max(1, fields.count("max_length", 1) - 1)
    return None


def _read_forbidden(
    content: Mapping[str, Any], name: str, eos_id: int, vocab_size: int, problems: list[str]
) -> tuple[int, ...]:
    """Return the ids of `bad_words_ids` and `suppress_tokens`, each once; EOS is never a bad word."""
    words, suppressed = content.get("bad_words_ids") or [], content.get("suppress_tokens") or []
    forbidden: list[int] = []
    if not _are_ids(suppressed, vocab_size):
        problems.append(
            f"{name}: suppress_tokens {reprlib.repr(suppressed)} are not in the vocabulary of {vocab_size}"
        )
    else:
        forbidden += suppressed
    for word in words if isinstance(words, list) else [words]:
        if not _are_ids(word, vocab_size) or not word:
            problems.append(
                f"{name}: bad_words_ids {reprlib.repr(word)} are not in the vocabulary of {vocab_size}"
            )
        elif len(word) > 1:
            problems.append(f"{name}: bad_words_ids {reprlib.repr(word)}: only single tokens are supported")
        elif word != [eos_id]:
            forbidden += word
    return tuple(dict.fromkeys(forbidden))


def _are_ids(value: object, vocab_size: int) -> bool:
    return isinstance(value, list) and all(type(each) is int and 0 <= each < vocab_size for each in value)
