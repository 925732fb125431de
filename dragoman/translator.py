"""The whole path of a text, on one page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import overload

from dragoman.batching.batches import plan_batches
from dragoman.batching.pool import BatchPool
from dragoman.bundle import Bundle, Manifest, open_bundle
from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import SourceLimits
from dragoman.errors import BundleError, InputError
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.graphs.session import SessionOptions
from dragoman.rejoin import Piece, rejoin
from dragoman.text.segment import Document, has_letters, segment_to_fit
from dragoman.text.tokenise import Tokenizer
from dragoman.text.validity import check_text
from dragoman.types import Hypothesis, Translation

DEFAULTS = DecodingOptions()
READ_AHEAD_TEXTS = 512
"""Texts that `translate_many` takes at a time, so that sources of like length meet in a batch."""
BUDGET_TOKENS = 2048
"""Padded source tokens of a batch."""
MAX_SOURCES = 32
"""Sources of a batch."""

Ids = list[int]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A text ready to be searched: its segments' ids, None where a segment is copied."""

    document: Document
    sources: tuple[Ids | None, ...]


class Translator:
    """A loaded bundle that translates. Safe to use from several threads."""

    def __init__(self, bundle: Bundle, options: SessionOptions, workers: int = 1) -> None:
        self.manifest: Manifest = bundle.manifest
        self._source_tokenizer = Tokenizer.load(bundle.file(self.manifest.source_tokenizer))
        self._target_tokenizer = Tokenizer.load(bundle.file(self.manifest.target_tokenizer))
        _check_vocabularies(bundle, self._source_tokenizer, self._target_tokenizer)
        self._encoder = Encoder(bundle, options)
        self._decoder = Decoder(bundle, options)
        self._pool = BatchPool(workers)

    @classmethod
    def open(cls, path: str | Path, *, workers: int = 1, threads: int = 1) -> "Translator":
        """Verify and load a bundle.

        Args:
            path: the bundle's folder.
            workers: batches of one call that are translated at the same time.
            threads: cores that one batch uses. More workers give more than more threads.

        Raises:
            BundleError: naming every file or field at fault.
        """
        return cls(open_bundle(Path(path)), SessionOptions(threads=threads), workers)

    @overload
    def translate(self, text: str, options: DecodingOptions = DEFAULTS) -> Translation: ...
    @overload
    def translate(
        self, text: list[str], options: DecodingOptions = DEFAULTS
    ) -> list[Translation | InputError]: ...
    def translate(
        self, text: str | list[str], options: DecodingOptions = DEFAULTS
    ) -> Translation | list[Translation | InputError]:
        """Translate one text, or several together.

        Args:
            text: a text of any length, or a list of them.
            options: wishes for the search.

        Returns:
            The translation; for a list, each text's translation, or the error that names it.

        Raises:
            InputError: for a single text that cannot be translated, or options beyond the model's limits.
        """
        self._check_options(options)
        if not isinstance(text, str):
            return self._translate_window(text, options, first_item=0)
        (outcome,) = self._translate_window([text], options, first_item=None)
        if isinstance(outcome, InputError):
            raise outcome
        return outcome

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = DEFAULTS, read_ahead: int = READ_AHEAD_TEXTS
    ) -> Iterator[Translation | InputError]:
        """Translate lazily and in order, reading at most `read_ahead` texts ahead.

        Yields:
            Per text its translation, or the error that names it by its position.
        """
        self._check_options(options)
        remaining = iter(texts)
        first_item = 0
        while window := list(islice(remaining, read_ahead)):
            yield from self._translate_window(window, options, first_item)
            first_item += len(window)

    def _translate_window(
        self, texts: Sequence[str], options: DecodingOptions, first_item: int | None
    ) -> list[Translation | InputError]:
        prepared = [
            self._prepare(text, None if first_item is None else first_item + index)
            for index, text in enumerate(texts)
        ]
        sources = [
            source
            for text in prepared
            if isinstance(text, _Prepared)
            for source in text.sources
            if source is not None
        ]
        hypotheses = iter(self._search(sources, options))
        return [
            text if isinstance(text, InputError) else self._finish(text, hypotheses, options)
            for text in prepared
        ]

    def _prepare(self, text: str, item: int | None) -> _Prepared | InputError:
        """Text to segments to ids."""
        tokenizer, limits = self._source_tokenizer, self.manifest.limits
        try:
            check_text(text, item)
            document = segment_to_fit(
                text, self.manifest.source_language, tokenizer.count, limits.max_source_tokens
            )
        except InputError as error:
            return InputError(error.field, error.problem, item)
        to_encode = [segment for segment in document.segments if has_letters(segment)]
        encoded = iter(tokenizer.encode(to_encode))
        sources = tuple(next(encoded) if has_letters(segment) else None for segment in document.segments)
        return _Prepared(document, sources)

    def _search(self, sources: Sequence[Ids], options: DecodingOptions) -> list[list[Hypothesis]]:
        """Ids to hypotheses, in batches of like length."""
        plan = plan_batches([len(source) for source in sources], BUDGET_TOKENS, MAX_SOURCES)
        found = self._pool.map(
            lambda batch: self._search_batch([sources[index] for index in batch], options), plan
        )
        results: list[list[Hypothesis]] = [[] for _ in sources]
        for batch, hypotheses in zip(plan, found, strict=True):
            for index, of_source in zip(batch, hypotheses, strict=True):
                results[index] = of_source
        return results

    def _search_batch(self, sources: Sequence[Ids], options: DecodingOptions) -> list[list[Hypothesis]]:
        """Encoded once, decoded until the last has ended."""
        special_ids = self.manifest.special_ids
        strategy = make_strategy(
            [self._limits(len(source), options) for source in sources],
            options,
            bos_id=special_ids.bos,
            eos_id=special_ids.eos,
            vocab_size=self.manifest.sizes.target_vocab,
        )
        steps = self._decoder.start(self._encoder.run(sources), options.beam_size)
        return search(steps, strategy)

    def _finish(
        self, text: _Prepared, hypotheses: Iterator[list[Hypothesis]], options: DecodingOptions
    ) -> Translation:
        """Hypotheses to text."""
        pieces: list[Piece] = []
        for segment, source in zip(text.document.segments, text.sources, strict=True):
            found = [] if source is None else next(hypotheses)
            targets = self._target_tokenizer.decode([hypothesis.ids for hypothesis in found])
            pieces.append(Piece(segment, len(source or ()), tuple(found), tuple(targets)))
        return rejoin(text.document, pieces, options)

    def _limits(self, num_source_tokens: int, options: DecodingOptions) -> SourceLimits:
        """A translation seldom has twice its source's tokens; a loop would have no end."""
        default = max(2 * num_source_tokens + 20, options.min_length)
        most = options.max_length or min(default, self.manifest.limits.max_target_tokens)
        return SourceLimits(max_tokens=most, min_tokens=max(1, options.min_length))

    def _check_options(self, options: DecodingOptions) -> None:
        most = self.manifest.limits.max_target_tokens
        for field, value in (("max_length", options.max_length), ("min_length", options.min_length)):
            if value is not None and value > most:
                raise InputError(field, f"{value} is over this model's limit of {most} tokens a segment")


def _check_vocabularies(bundle: Bundle, source: Tokenizer, target: Tokenizer) -> None:
    """A tokenizer of another model would give ids that mean something else, or nothing."""
    sizes = bundle.manifest.sizes
    found = {
        bundle.manifest.source_tokenizer: (source.vocab_size, sizes.source_vocab),
        bundle.manifest.target_tokenizer: (target.vocab_size, sizes.target_vocab),
    }
    problems = [
        f"{name} has {has} pieces, the manifest says {wanted}"
        for name, (has, wanted) in found.items()
        if has != wanted
    ]
    if problems:
        raise BundleError(str(bundle.path), tuple(problems))
