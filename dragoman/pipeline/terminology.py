"""Apply a request's terminology to segments: what a translation must contain, and how the model learns of it.

A model that was trained with terms reads them with their translation next to them (Dinu et al. 2019,
"Training Neural Machine Translation to Apply Terminology Constraints", P19-1294). If its translation lacks
one, or if the model knows no such marks, `dragoman/decoding/constrained.py` requires it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from dragoman.decoding.constrained import has_phrase
from dragoman.decoding.constraints import Constraints, PhraseForm, RequiredPhrase
from dragoman.errors import InputError
from dragoman.manifest import TermControls
from dragoman.reading.reader import Reader
from dragoman.scripts import is_word_character
from dragoman.terms import Term, Terminology
from dragoman.text.inflections import is_inflected, is_plural, plurals_of
from dragoman.text.term_index import TermIndex, TermMatch, is_noun, split_words
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Pair, Span
from dragoman.weighted_cache import WeightedCache

MAX_CACHED_TERMS = 50_000
"""Maximum number of terms of all terminologies, each with a language pair, whose index is kept: 50 MiB."""
MIN_WEIGHT = 1000
"""Least size of a terminology, in terms."""
MAX_CACHED_PHRASES = 256
"""Maximum number of translations of a terminology whose forms are kept."""
MAX_INFLECTED_FORMS = 16
"""Maximum number of forms that are taken from the vocabulary for a term."""
BUCKET_CHARACTERS = 3
"""Characters that inflected forms of a word share at least; only such words are compared."""
_OPENING = "("
"""Text after which a word begins without a space."""


@dataclass(frozen=True, slots=True)
class SegmentTerms:
    """Terms and phrases that the translation of a segment must contain and must not contain."""

    matches: tuple[TermMatch, ...]
    constraints: Constraints
    phrases: tuple["_Phrase", ...]
    """In the order of the constraints' required phrases."""

    def are_met(self, text: str) -> bool:
        """Return whether a translation satisfies all."""
        if has_phrase(text.casefold(), self.constraints.forbidden):
            return False
        required = zip(self.phrases, self.constraints.required, strict=True)
        return all(phrase.count(text) >= one.count for phrase, one in required)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """The allowed translations of a term."""

    forms: tuple[PhraseForm, ...]
    index: TermIndex | None
    """Finds them in a translation, in any inflection; None if they must be spelled as they are."""
    spelling: str

    def count(self, text: str) -> int:
        """Return the number of times that a translation contains the phrase."""
        if self.index is not None:
            return len(self.index.find(text))
        words = [word for _, word in split_words(self.spelling)]
        found = [word for _, word in split_words(text)]
        return sum(found[start : start + len(words)] == words for start in range(len(found)))


class TermFinder:
    """Finds a terminology's terms in segments of a language pair. Safe to use from several threads."""

    def __init__(self, terminology: Terminology, pair: Pair, model: "TermModel") -> None:
        self.num_terms = len(terminology.terms) + len(terminology.forbidden)
        self._model = model
        self._pair = pair
        self._index = TermIndex.of_sources(terminology.terms, pair)
        self._forbidden = tuple(phrase.strip().casefold() for phrase in terminology.forbidden)
        self._phrase = lru_cache(MAX_CACHED_PHRASES)(self._make_phrase)

    def find(self, segment: str) -> SegmentTerms | None:
        """Return a segment's terms; None if it has none and nothing is forbidden.

        Raises:
            InputError: the model's vocabulary cannot spell a translation.
        """
        matches = self._index.find(segment)
        if not matches and not self._forbidden:
            return None
        targets = [self._targets(segment, one) for one in matches]
        # Any form counts for a singular: beside one, a plural must not count for both.
        singulars = {
            one.term for one, allowed in zip(matches, targets, strict=True) if allowed == one.term.targets
        }
        keys = Counter(
            (
                one.term,
                one.surface if _keeps_case(one) else "",
                one.term.targets if one.term in singulars else allowed,
            )
            for one, allowed in zip(matches, targets, strict=True)
        )
        phrases = tuple(self._phrase(*key) for key in keys)
        required = tuple(
            RequiredPhrase(phrase.forms, count) for phrase, count in zip(phrases, keys.values(), strict=True)
        )
        constraints = Constraints(self._pair.target, required, self._forbidden)
        return SegmentTerms(tuple(matches), constraints, phrases)

    def annotate(
        self, segment: str, matches: Sequence[TermMatch]
    ) -> tuple[list[int], tuple[Span, ...]] | None:
        """Return a segment's ids with translations next to its terms; None if the model knows no such marks.

        Returns:
            The ids, and the span in the segment that each stands for: a translation stands for its term.
        """
        controls = self._model.controls
        if controls is None or not matches:
            return None
        ids: list[int] = []
        spans: list[Span] = []
        position = 0
        for match in matches:
            self._add(segment, Span(position, match.span.start), ids, spans)
            ids.append(controls.begin)
            spans.append(Span(match.span.start, match.span.start))
            self._add(segment, match.span, ids, spans)
            given = self._targets(segment, match)
            preferred = given[0] if len(given) == 1 else _preferred(match)
            (translation,) = self._model.reader.encode([preferred])
            inserted = [controls.translation, *translation, controls.end]
            ids += inserted
            spans += [match.span] * len(inserted)
            position = match.span.end
        self._add(segment, Span(position, len(segment)), ids, spans)
        return ids, tuple(spans)

    def _add(self, segment: str, span: Span, ids: list[int], spans: list[Span]) -> None:
        """Add the ids of a part of the segment, which is encoded as words of its own."""
        part = segment[span.start : span.end]
        start = span.start + len(part) - len(part.lstrip())
        if part := part.strip():
            ids += self._model.reader.encode([part])[0]
            found = self._model.reader.spans(part)
            spans += (Span(start + one.start, start + one.end) for one in found)

    def _targets(self, segment: str, match: TermMatch) -> tuple[str, ...]:
        """Return the allowed translations of a term: their plurals where the segment has one."""
        term, language = match.term, self._pair.target
        noun, found = (split_words(text)[-1][1] for text in (term.source, match.surface))
        before = segment[: match.span.end - len(found)]
        if is_noun(term, self._pair) is False or not is_plural(noun, found, before, self._pair.source):
            return term.targets
        return tuple(plural for target in term.targets for plural in _plurals(target, language))

    def _make_phrase(self, term: Term, surface: str, targets: tuple[str, ...]) -> _Phrase:
        """Return the forms of a term's translation; `surface` is "" unless the segment's spelling matters."""
        if not term.targets:
            return _Phrase(tuple(self._forms([surface], [surface])), None, surface)
        spellings = dict.fromkeys(targets)
        if surface:
            spellings |= dict.fromkeys(target.upper() for target in targets)
        spellings |= dict.fromkeys(spelling[0].upper() + spelling[1:] for spelling in spellings)
        for spelling in tuple(spellings):
            spellings |= dict.fromkeys(self._model.inflected(spelling, self._pair.target))
        forms = tuple(self._forms(spellings, term.targets))
        if not forms:  # no plural can be spelled
            return self._make_phrase(term, surface, term.targets)
        index = TermIndex.of_targets(targets, self._pair.target, is_noun=is_noun(term, self._pair) is True)
        return _Phrase(forms, index, "")

    def _forms(self, spellings: Iterable[str], given: Collection[str]) -> Iterator[PhraseForm]:
        """Yield the forms that the vocabulary can spell. Raises InputError if it cannot spell a given one."""
        target = self._model.target
        (opening,) = target.encode([_OPENING])
        for spelling in spellings:
            words = split_words(spelling)
            (ids,) = target.encode([spelling])
            if target.unk_id in ids or not ids or not words:
                if spelling not in given:  # a variant of ours
                    continue
                raise InputError("terms.targets", f"the model's vocabulary cannot spell {spelling!r}")
            yield PhraseForm(tuple(ids), words[-1][1])
            (inside,) = target.encode([_OPENING + spelling])
            if inside[: len(opening)] == opening and len(inside) > len(opening):
                yield PhraseForm(tuple(inside[len(opening) :]), words[-1][1])


class TermModel:
    """Reader, vocabulary and marks of a bundle, for terms. Safe to use from several threads."""

    def __init__(self, reader: Reader, target: Tokenizer, controls: TermControls | None) -> None:
        self.reader = reader
        self.target = target
        self.controls = controls
        self._finders: WeightedCache[tuple[Terminology, Pair], TermFinder] = WeightedCache(
            MAX_CACHED_TERMS, lambda finder: max(MIN_WEIGHT, finder.num_terms)
        )
        self._words = lru_cache(1)(self._whole_words)

    def finder(self, terminology: Terminology, pair: Pair) -> TermFinder:
        """Return the finder of a terminology's terms; the same for the same terminology."""
        return self._finders.get((terminology, pair), lambda: TermFinder(terminology, pair, self))

    def inflected(self, spelling: str, language: str) -> list[str]:
        """Return other forms of a word that are pieces of the target vocabulary, as `Dateien` of `Datei`."""
        if not all(map(is_word_character, spelling)) or len(spelling) < BUCKET_CHARACTERS:
            return []
        bucket = self._words().get(spelling[:BUCKET_CHARACTERS], ())
        found = (word for word in bucket if word != spelling and is_inflected(language, spelling, word))
        return list(islice(found, MAX_INFLECTED_FORMS))

    def _whole_words(self) -> dict[str, list[str]]:
        """Return the pieces of the target vocabulary that are whole words, by their first characters."""
        words: dict[str, list[str]] = {}
        for index in range(self.target.vocab_size):
            word = self.target.text_of(index)
            if word.startswith(" ") and word[1:].isalpha():
                words.setdefault(word[1 : 1 + BUCKET_CHARACTERS], []).append(word[1:])
        return words


def _keeps_case(match: TermMatch) -> bool:
    """Return whether it matters how the segment spells a term: it is kept, or it is in capital letters."""
    return not match.term.targets or (len(match.surface) > 1 and match.surface.isupper())


def _plurals(phrase: str, language: str) -> list[str]:
    """Return what may be the plural of a phrase, by its last word; the phrase itself if nothing is known."""
    at, word = split_words(phrase)[-1]
    return [phrase[:at] + plural + phrase[at + len(word) :] for plural in plurals_of(word, language)] or [
        phrase
    ]


def _preferred(match: TermMatch) -> str:
    return match.term.targets[0] if match.term.targets else match.surface
