"""Fill in a request's defaults and check it against what the bundle can do."""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from dragoman.decoding.options import SearchOptions
from dragoman.errors import InputError
from dragoman.manifest import Controls, Manifest
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.pipeline.terminology import TermFinder, TermModel
from dragoman.scheduling.fair_queue import Flow
from dragoman.text.swiss import is_swiss
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.validation import surrogate_problem
from dragoman.types import Formality, Pair

MAX_PREFIXES = 16
"""Number of target prefixes whose ids are cached."""


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """An engine request with the bundle's defaults, for any number of texts."""

    request: EngineRequest
    options: SearchOptions
    pair: Pair
    prefix: tuple[int, ...]
    """Ids that the target of the text's first segment begins with."""
    controls: tuple[int, ...]
    """Control ids before the pieces of each segment."""
    forms: Mapping[Formality, int]
    """Control ids of the forms of address, of which a text gets one; empty if one is requested or unknown."""
    term_finder: TermFinder | None
    """Finds the terms of a segment; None without terminology."""
    flow: Flow
    is_swiss: bool = False
    """Whether to write the translation in Swiss spelling."""


class RequestResolver:
    """Applies a bundle's defaults and limits to requests. Safe to use from several threads."""

    def __init__(self, manifest: Manifest, tokenizer: Tokenizer, term_model: TermModel) -> None:
        """Create a resolver.

        Args:
            manifest: the bundle's.
            tokenizer: of the target.
            term_model: makes the finders of terms.
        """
        self._manifest = manifest
        self._tokenizer = tokenizer
        self._term_model = term_model
        # All texts of a request have the same prefix.
        self._prefix_ids = lru_cache(MAX_PREFIXES)(partial(self.target_ids, field="target_prefix"))

    def resolve(self, request: EngineRequest) -> ResolvedRequest:
        """Fill in the bundle's defaults.

        Raises:
            InputError: an option is beyond the model's limits, or `on_token` is set for a beam search.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
        """
        options = request.options
        most = self._manifest.limits.max_target_tokens
        for name, value in (("max_length", options.max_length), ("min_length", options.min_length)):
            if value is not None and value > most:
                raise InputError(
                    name, f"{reprlib.repr(value)} exceeds this model's limit of {most} tokens per segment"
                )
        defaults = self._manifest.decoding
        resolved = options.resolve(defaults.beam_size, defaults.length_penalty, defaults.early_stopping)
        if request.on_token is not None:
            _check_one_row(resolved)
        source, target = (None, None) if request.pair is None else request.pair
        pair = self._manifest.languages.pair(source, target)
        return ResolvedRequest(
            request,
            resolved,
            pair,
            self._prefix_ids(options.target_prefix),
            formality_ids(self._manifest.controls, options.formality, pair),
            _known_forms(self._manifest.controls, pair) if options.formality is None else {},
            None if options.terminology is None else self._term_model.finder(options.terminology, pair),
            request.flow or Flow(),
            target is not None and is_swiss(target, pair.target),
        )

    def target_ids(self, text: str, field: str) -> tuple[int, ...]:
        """Encode a text of the target language; an InputError names `field`."""
        if (problem := surrogate_problem(text)) is not None:
            raise InputError(field, problem)
        (ids,) = self._tokenizer.encode([text])
        return tuple(ids)


def formality_ids(controls: Controls | None, formality: Formality | None, pair: Pair) -> tuple[int, ...]:
    """Return the ids before a source that request a form of address.

    Raises:
        InputError: the model knows no forms of address in the target language.
    """
    if formality is None:
        return ()
    if known := _known_forms(controls, pair):
        is_formal = formality in {Formality.FORMAL, Formality.PREFER_FORMAL}
        return (known[Formality.FORMAL if is_formal else Formality.INFORMAL],)
    if formality in {Formality.PREFER_FORMAL, Formality.PREFER_INFORMAL}:
        return ()
    raise unknown_formality(formality, pair.target)


def _known_forms(controls: Controls | None, pair: Pair) -> Mapping[Formality, int]:
    known = None if controls is None else controls.formality
    if known is None or pair.target not in known.targets:
        return {}
    return {Formality.FORMAL: known.formal, Formality.INFORMAL: known.informal}


def unknown_formality(formality: Formality, target: str) -> InputError:
    """Return the error for a form of address in a language in which the model knows none."""
    return InputError(
        "formality", f"this model knows no forms of address in {target}; send prefer_{formality}, or omit it"
    )


def _check_one_row(options: SearchOptions) -> None:
    """Raise an InputError if tokens that were reported could still change."""
    if options.beam_size > 1:
        problem = f"requires greedy search; set beam_size to 1, not {options.beam_size}"
    elif options.num_hypotheses > 1:
        problem = f"requires a single hypothesis; set num_hypotheses to 1, not {options.num_hypotheses}"
    else:
        return
    raise InputError("on_token", problem)
