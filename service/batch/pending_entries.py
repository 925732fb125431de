"""The first pass: translate entries that are not in the journal, each distinct one once; commit in chunks.

Once an entry is in the journal, nothing of it stays in memory, so memory does not grow with the files.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from dragoman.errors import TranslationCancelled
from dragoman.types import Pair
from service.batch.errors import JobCancelled, JournalFailed
from service.batch.files import JobFile, read_entries
from service.batch.journal import EntryLookup, Journal, look_up
from service.batch.progress import BatchProgress, OnProgress
from service.batch.texts import EntryTranslator
from service.formats.entries import Entry
from service.text.outcome import TextOutcome

TranslatorOf = Callable[[Pair], EntryTranslator]


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Limits of a chunk: outcomes are committed as soon as either is reached."""

    entries: int = 256
    seconds: float = 2.0


@dataclass(slots=True, eq=False)
class PendingEntriesPass:
    """Sends pending entries to a translator, and commits their outcomes to the journal.

    Entries in progress are in `_waiting`, and those that wait for the next commit in `_uncommitted`: if they
    occur again, they are not in the journal yet, but need no second translation.
    """

    journal: Journal
    num_entries: int
    chunks: ChunkLimits
    on_progress: OnProgress
    stop: Event
    monotonic: Callable[[], float] = time.monotonic
    num_translated: int = 0
    """Number of distinct entries translated so far."""
    _waiting: dict[bytes, int] = field(default_factory=dict)
    _under_way: deque[tuple[bytes, int]] = field(default_factory=deque)
    """Key and number of characters of each entry in progress."""
    _uncommitted: dict[bytes, TextOutcome] = field(default_factory=dict)
    _num_done: int = 0
    _num_failed: int = 0
    _num_characters: int = 0
    """Characters of the translated entries, repeated ones each time."""
    _committed_at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._committed_at_s = self.monotonic()

    def run(self, files: Sequence[JobFile], pair: Pair, translator: EntryTranslator) -> None:
        """Translate files of one pair as one stream, so that the translator does not run empty between them.

        Whatever ends the pass, all finished translations are committed, unless the journal itself fails.
        """
        outcomes = translator.translate(self._pending(files, pair))
        try:
            for outcome in outcomes:
                self._record_outcome(*self._under_way.popleft(), outcome)
                self._check_stop()
        except JournalFailed:
            raise
        except TranslationCancelled as error:
            self._commit()
            raise JobCancelled from error
        except BaseException:
            self._commit()
            raise
        finally:
            if isinstance(outcomes, Generator):
                outcomes.close()  # cancels work in progress now, not at garbage collection
        self._commit()

    def _pending(self, files: Sequence[JobFile], pair: Pair) -> Iterator[Entry]:
        entries = (entry for file in files for entry in read_entries(file))
        for window in look_up(self.journal, entries, pair):
            self._check_stop()
            # Check the whole window before its first entry is yielded: nothing is committed in between.
            pending = self._select_pending(window)
            self._report_progress()
            for key, entry in pending:
                self._under_way.append((key, len(entry.text)))
                yield entry

    def _select_pending(self, window: Sequence[EntryLookup]) -> list[tuple[bytes, Entry]]:
        pending = []
        for key, entry, kept in window:
            outcome = kept or self._uncommitted.get(key)
            if outcome is not None:
                self._count(outcome, 1, len(entry.text))
            elif key in self._waiting:
                self._waiting[key] += 1
            else:
                self._waiting[key] = 1
                pending.append((key, entry))
        return pending

    def _record_outcome(self, key: bytes, num_characters: int, outcome: TextOutcome) -> None:
        self._count(outcome, self._waiting.pop(key), num_characters)
        self._uncommitted[key] = outcome
        self.num_translated += 1
        self._report_progress()
        is_time = self.monotonic() - self._committed_at_s >= self.chunks.seconds
        if is_time or len(self._uncommitted) >= self.chunks.entries:
            self._commit()

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise JobCancelled

    def _commit(self) -> None:
        self.journal.commit(self._uncommitted, self._num_characters)
        self._uncommitted.clear()
        self._committed_at_s = self.monotonic()

    def _count(self, outcome: TextOutcome, times: int, num_characters: int) -> None:
        self._num_done += times
        if outcome.is_source:
            self._num_failed += times
        else:
            self._num_characters += times * num_characters

    def _report_progress(self) -> None:
        self.on_progress(
            BatchProgress(self.num_entries, self._num_done, self._num_failed, self.num_translated)
        )
