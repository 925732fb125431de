"""The use cases of glossaries that all APIs share."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime

from service.accounts.keys import Caller
from service.glossaries.store import GlossaryStore
from service.glossaries.terminology import RequestTerminology, RequestTerms

MAX_CACHED_TERMS = 200_000
"""Maximum number of terms of all cached terminologies."""
MAX_CACHED = 1000
"""Maximum number of cached terminologies."""
CacheKey = tuple[tuple[tuple[str, int], ...], RequestTerms]


class GlossaryService:
    """Finds the terms of requests, and caches them by version. Safe to use from several threads.

    Methods wait for the database.
    """

    def __init__(self, store: GlossaryStore) -> None:
        self.store = store
        self._cached: OrderedDict[CacheKey, RequestTerminology] = OrderedDict()
        self._num_cached_terms = 0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the time at which a glossary is created."""
        return datetime.now(UTC)

    def find_terms(
        self, caller: Caller, glossary_ids: Sequence[str], requested: RequestTerms
    ) -> RequestTerminology | None:
        """Return the terms of a request; None if it has none.

        Requests with the same version of the same glossaries and equal own terms get the same object.

        Args:
            caller: owner of the glossaries.
            glossary_ids: ids of the glossaries, the most important first.
            requested: terms in the request itself.

        Raises:
            UnknownGlossary: the caller has no such glossary.
            StoreError: the database cannot be used.
        """
        if not glossary_ids and not requested:
            return None
        owner = caller.key_id
        versions = tuple(self.store.get(owner, glossary_id) for glossary_id in dict.fromkeys(glossary_ids))
        key = tuple((glossary.id, glossary.version) for glossary in versions), requested
        with self._lock:
            if (known := self._cached.get(key)) is not None:
                self._cached.move_to_end(key)
                return known
        glossaries = tuple(self.store.read_dictionaries(owner, glossary.id) for glossary in versions)
        return self._add(key, RequestTerminology(glossaries, requested))

    def _add(self, key: CacheKey, found: RequestTerminology) -> RequestTerminology:
        with self._lock:
            if (known := self._cached.get(key)) is not None:  # another thread was faster
                return known
            self._cached[key] = found
            self._num_cached_terms += found.num_terms
            while len(self._cached) > 1 and self._is_full():
                _, oldest = self._cached.popitem(last=False)
                self._num_cached_terms -= oldest.num_terms
        return found

    def _is_full(self) -> bool:
        return self._num_cached_terms > MAX_CACHED_TERMS or len(self._cached) > MAX_CACHED
