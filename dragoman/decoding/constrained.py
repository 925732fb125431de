"""Beam search for targets that contain required phrases and no forbidden ones.

Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural Machine
Translation", N18-1119: the beam is divided among hypotheses by how many constraints they meet, so that those
whose log-probability a required phrase has lowered do not compete with those which have none. Hu et al. 2019,
"Improved Lexically Constrained Decoding for Translation and Monolingual Rewriting", N19-1090, keep phrases in
a trie. Here a phrase has several forms, of which a hypothesis may use any.

Shapes: B sources searched for, k = beam_size, R rows (B x k), K candidates of a row, W wanted tokens of one.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.beam import assign_rows_to_children
from dragoman.decoding.constraints import Constraints, Progress
from dragoman.decoding.filters import round_up
from dragoman.decoding.scoring import normalised_score
from dragoman.decoding.slots import close_gaps, rows_of
from dragoman.decoding.strategy import Source, StepOutcome, TargetVocabulary
from dragoman.decoding.utf8 import BETWEEN, SPARE_CANDIDATES, Utf8Automaton
from dragoman.scripts import is_word_character
from dragoman.types import Hypothesis

MAX_TAIL_CHARACTERS = 400
"""Characters at the end of a hypothesis in which a forbidden phrase is looked for; longer than any phrase."""
MIN_BEAM_SIZE = 8
EASY_BEAM_SIZE = 4
MAX_EASY_PHRASES = 2
MANY_PHRASES = 5
BEAM_SIZE_OF_MANY = 16
OPENING_MARKS = frozenset("([{<\"'/-–—¿¡«‹„“‘‚")  # noqa: RUF001 -- quotation marks of all kinds
"""Characters after which a word begins without a space."""
NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True, slots=True)
class _Live:
    """A hypothesis that has not ended."""

    logprob: float
    ids: tuple[int, ...]
    """Including those that `Source.begin` forces."""
    progress: Progress
    utf8_state: int = BETWEEN
    last_character: str = " "
    """Of its text."""
    tail: str = ""
    """End of its text, in lower case; empty if no phrase is forbidden."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A live hypothesis with one more token."""

    row: int
    """Row of the hypothesis that it extends."""
    token: int
    logprob: float
    """Of the whole hypothesis."""
    progress: Progress
    """After the token."""


@dataclass(slots=True, eq=False)
class _Search:
    """The search for one source."""

    source: Source
    live: list[_Live | None]
    """By row, [k]; None for rows that no hypothesis uses."""
    finished: list[Hypothesis] = field(default_factory=list)
    is_done: bool = False


class ConstrainedBeam:
    """A `Strategy` that keeps `beam_size` live hypotheses per source, divided among banks.

    Hypotheses that have met equally many required phrases, and as many tokens of another, form a bank. Each
    step takes the best candidate of every bank in turn, the furthest bank first, until k are taken.
    Candidates of a row are its best tokens, and the tokens that begin or continue a required phrase. A target
    may end only where no phrase is missing. A hypothesis that the model would end while a phrase is missing
    is dropped if others remain, so that no phrase is appended to a finished sentence.
    """

    def __init__(self, beam_size: int, target: TargetVocabulary) -> None:
        self._beam_size = beam_size
        self._target = target
        self._searches: list[_Search] = []
        self._utf8 = Utf8Automaton(target.byte_ids)
        self._text_of = cache(target.text_of)
        self._begins_with_word = cache(self._has_word_character)
        self._num_best = round_up(beam_size + 1 + SPARE_CANDIDATES, target.size)

    @property
    def beam_size(self) -> int:
        """k, the number of rows per source."""
        return self._beam_size

    @property
    def num_best(self) -> int:
        """K, the number of candidates needed per row, besides the wanted ones."""
        return self._num_best

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row reads next, int64 [R]."""
        eos_id = self._target.eos_id
        return np.array([eos_id if one is None else one.ids[-1] for one in self._live()], np.int64)

    @property
    def wanted_ids(self) -> NDArray[np.int64]:
        """Tokens that begin or continue required phrases or continue a character, int64 [R, W].

        Each row has the end of sentence after them at least once.
        """
        by_row = [
            [] if one is None else [*one.progress.next_ids(), *self._utf8.continuations(one.utf8_state)]
            for one in self._live()
        ]
        width = 1 << max(map(len, by_row), default=0).bit_length()
        wanted = np.full((len(by_row), width), self._target.eos_id, np.int64)
        for row, ids in zip(wanted, by_row, strict=True):
            row[: len(ids)] = ids
        return wanted

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot."""
        return [search.source for search in self._searches]

    def join(self, sources: Sequence[Source]) -> None:
        """Start the search for more sources, in slots after all others."""
        self._target.check_forced_ids(sources)
        for source in sources:
            progress = Progress.start(source.constraints or NO_CONSTRAINTS)
            start = _Live(0.0, source.begin[:1], progress)
            self._searches.append(_Search(source, [start, *[None] * (self._beam_size - 1)]))

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Extend each source's hypotheses and collect finished ones.

        Args:
            logprobs: float32 [R, K + W]: the best of each row first, then its wanted tokens.
            ids: int64 [R, K + W].
        """
        parents = np.zeros((len(self._searches), self._beam_size), np.int64)
        for slot, search in enumerate(self._searches):
            group = slice(slot * self._beam_size, (slot + 1) * self._beam_size)
            parents[slot] = self._extend(search, logprobs[group].tolist(), ids[group].tolist())
        rows = (parents + (np.arange(len(parents)) * self._beam_size)[:, None]).ravel()
        is_leaving = np.array([search.is_done for search in self._searches], np.bool_)
        if is_leaving.any():
            finished = [(one.source, _results(one)) for one in self._searches if one.is_done]
            return StepOutcome(rows[self.remove(is_leaving)], finished)
        return StepOutcome(None if np.array_equal(rows, np.arange(len(rows))) else rows, ())

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B] -> the rows that continue, int64 [B' * k]."""
        slots = close_gaps(is_leaving)
        self._searches = [self._searches[slot] for slot in slots.tolist()]
        return rows_of(slots, self._beam_size)

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of the best live hypothesis, without those `Source.begin` forces."""
        search = self._searches[slot]
        best = max(filter(None, search.live), key=lambda one: one.logprob)
        return list(best.ids[len(search.source.begin) :])

    def _live(self) -> Iterator[_Live | None]:
        """Return the hypotheses of all rows."""
        return chain.from_iterable(search.live for search in self._searches)

    def _extend(self, search: _Search, logprobs: list[list[float]], ids: list[list[int]]) -> list[int]:
        """Extend a source's hypotheses by one token; return the row that each row continues, [k]."""
        source = search.source
        first = next(one for one in search.live if one is not None)
        num_tokens = len(first.ids)  # after this step
        if num_tokens <= source.num_forced:
            token = source.forced(num_tokens - 1)
            progress = self._progress(source, first, token)
            search.live[0] = self._child(search, _Candidate(0, token, first.logprob, progress))
            return list(range(self._beam_size))
        found = self._candidates(search, logprobs, ids)
        candidates = sorted(found, key=lambda one: -one.logprob)  # stable: equals keep their order
        chosen = self._choose(search, candidates)
        if num_tokens >= source.limits.max_tokens or not chosen:
            self._finish_cut(search, candidates)
            search.is_done = True
        else:
            search.is_done = self._is_done(search, chosen, num_tokens)
        parents = np.zeros((1, self._beam_size), np.int64)
        parents[0, : len(chosen)] = [one.row for one in chosen]
        children = [self._child(search, one) for one in chosen]
        search.live = [None] * self._beam_size
        continued = [0] * self._beam_size
        for child, row in enumerate(assign_rows_to_children(parents)[0].tolist()):
            continued[row] = int(parents[0, child])
            if child < len(children):
                search.live[row] = children[child]
        return continued

    def _candidates(
        self, search: _Search, logprobs: list[list[float]], ids: list[list[int]]
    ) -> Iterator[_Candidate]:
        """Yield the possible extensions of a source's hypotheses, by row and column."""
        source, eos_id = search.source, self._target.eos_id
        forbidden = (source.constraints or NO_CONSTRAINTS).forbidden
        rows = [(row, live) for row, live in enumerate(search.live) if live is not None]
        unfinished = [one for one in rows if not one[1].progress.num_missing or ids[one[0]][0] != eos_id]
        for row, live in unfinished or rows:
            may_end = not live.progress.num_missing and len(live.ids) > source.limits.min_tokens
            seen = {-1 if may_end else eos_id}
            for column, (token, logprob) in enumerate(zip(ids[row], logprobs[row], strict=True)):
                if token in seen or logprob == -math.inf:
                    continue
                seen.add(token)
                if not self._utf8.may_follow(live.utf8_state, token):
                    continue
                if forbidden and has_phrase(self._tail(live, token), forbidden):
                    continue
                progress = self._progress(source, live, token)
                is_wanted = column >= self._num_best and live.utf8_state == BETWEEN and token != eos_id
                if is_wanted and not (progress.begun or progress.ended):
                    continue  # it begins no phrase here
                yield _Candidate(row, token, live.logprob + logprob, progress)

    def _progress(self, source: Source, live: _Live, token: int) -> Progress:
        """Return a hypothesis's progress after another token."""
        text, before = self._text_of(token), live.last_character
        continues = self._begins_with_word(token) and is_word_character(before)
        language = (source.constraints or NO_CONSTRAINTS).language
        return live.progress.after(
            token,
            text if continues else "",
            partial(self._target.is_inflected, language),
            may_begin=not continues and _may_begin(before, text),
        )

    def _child(self, search: _Search, one: _Candidate) -> _Live:
        """Return the hypothesis that a candidate is."""
        live = search.live[one.row]
        assert live is not None, "candidates extend live hypotheses"  # noqa: S101 -- only a bug
        source, text = search.source, self._text_of(one.token)
        has_forbidden = source.constraints is not None and source.constraints.forbidden
        return _Live(
            one.logprob,
            (*live.ids, one.token),
            one.progress,
            self._utf8.after(live.utf8_state, one.token, source.can_spell_replacement),
            (text or live.last_character)[-1],
            self._tail(live, one.token) if has_forbidden else "",
        )

    def _tail(self, live: _Live, token: int) -> str:
        """Return the end of a hypothesis's text after another token, in lower case."""
        text = "" if token == self._target.eos_id else self._text_of(token)
        return (live.tail + text.casefold())[-MAX_TAIL_CHARACTERS:]

    def _has_word_character(self, token: int) -> bool:
        """Return whether a token's text begins with a character of a word."""
        text = self._text_of(token)
        return token != self._target.eos_id and bool(text) and is_word_character(text[0])

    def _choose(self, search: _Search, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Collect ended hypotheses and return the best others of all banks, at most k.

        An ended hypothesis counts if fewer than k candidates of its bank are better.
        """
        banks: dict[tuple[int, int], list[_Candidate]] = {}
        num_seen: dict[tuple[int, int], int] = {}
        for one in candidates:
            bank = one.progress.bank
            rank = num_seen[bank] = num_seen.get(bank, 0) + 1
            if one.token != self._target.eos_id:
                banks.setdefault(bank, []).append(one)
            elif rank <= self._beam_size:
                search.finished.append(_hypothesis(search.source, self._child(search, one), is_stopped=True))
        furthest_first = [banks[bank] for bank in sorted(banks, reverse=True)]
        in_turn = chain.from_iterable(zip_longest(*furthest_first))
        return list(islice((one for one in in_turn if one is not None), self._beam_size))

    def _is_done(self, search: _Search, chosen: Sequence[_Candidate], num_tokens: int) -> bool:
        """Return whether no live hypothesis can be among the results."""
        source, finished = search.source, search.finished
        if len(finished) < source.num_hypotheses:
            return False
        if source.early_stopping and len(finished) >= self._beam_size:
            return True
        worst = sorted((one.score for one in finished), reverse=True)[source.num_hypotheses - 1]
        best = max(one.logprob for one in chosen)
        return normalised_score(best, num_tokens, source.length_penalty) <= worst

    def _finish_cut(self, search: _Search, candidates: Sequence[_Candidate]) -> None:
        """Finish hypotheses at their limit: those that lack no phrase, or else the one that lacks fewest."""
        cut = [self._child(search, one) for one in candidates if one.token != self._target.eos_id]
        complete = [one for one in cut if not one.progress.num_missing]
        if not complete and not search.finished:
            live = cut or [one for one in search.live if one is not None]
            complete = sorted(live, key=lambda one: one.progress.num_missing)[:1]
        search.finished += (_hypothesis(search.source, one, is_stopped=False) for one in complete)


def _results(search: _Search) -> list[Hypothesis]:
    """Return a finished source's best hypotheses by score; of equals, the one that finished first."""
    return sorted(search.finished, key=lambda one: -one.score)[: search.source.num_hypotheses]


def _hypothesis(source: Source, live: _Live, *, is_stopped: bool) -> Hypothesis:
    ids = live.ids[len(source.begin) : -1 if is_stopped else None]
    return source.hypothesis(ids, live.logprob, len(live.ids) - 1, is_stopped=is_stopped)


def _may_begin(before: str, text: str) -> bool:
    """Return whether a phrase may begin: after a space, an opening mark, or where no spaces are written."""
    if text[:1] == " " or before == " " or before in OPENING_MARKS:
        return True
    return any(one.isalpha() and not is_word_character(one) for one in (before, text[:1]))


def constrained_beam_size(beam_size: int, num_phrases: int, *, is_annotated: bool) -> int:
    """Return the beam size of a constrained search: each phrase divides the beam among more hypotheses.

    Args:
        beam_size: what the request asks for; 1 is greedy search.
        num_phrases: required phrases.
        is_annotated: whether the model reads the phrases in its source, and so expects them.
    """
    if num_phrases >= MANY_PHRASES:
        return max(beam_size, BEAM_SIZE_OF_MANY)
    is_easy = is_annotated and num_phrases <= MAX_EASY_PHRASES
    return max(beam_size, EASY_BEAM_SIZE if is_easy else MIN_BEAM_SIZE)


def has_phrase(text: str, phrases: Iterable[str]) -> bool:
    """Return whether a text contains one of some phrases as whole words; both in lower case."""
    return any(_has_whole(text, phrase) for phrase in phrases)


def _has_whole(text: str, phrase: str) -> bool:
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        is_inside = (start > 0 and text[start - 1].isalnum() and phrase[0].isalnum()) or (
            end < len(text) and text[end].isalnum() and phrase[-1].isalnum()
        )
        if not is_inside:
            return True
        start = text.find(phrase, start + 1)
    return False
