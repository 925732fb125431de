"""The use cases of glossaries that all APIs share."""

from collections.abc import Sequence
from datetime import UTC, datetime

from dragoman.weighted_cache import WeightedCache
from service.accounts.keys import Caller
from service.glossaries.store import GlossaryStore
from service.glossaries.terminology import RequestTerminology, RequestTerms

MAX_CACHED_TERMS = 200_000
"""Maximum number of terms of all cached terminologies."""
MIN_WEIGHT = 200
"""Least size of a terminology, in terms."""
CacheKey = tuple[tuple[tuple[str, int], ...], RequestTerms]


class GlossaryService:
    """Finds the terms of requests, and caches them by version. Safe to use from several threads.

    Methods wait for the database.
    """

    def __init__(self, store: GlossaryStore) -> None:
        self.store = store
        self._cached: WeightedCache[CacheKey, RequestTerminology] = WeightedCache(
            MAX_CACHED_TERMS, lambda found: max(MIN_WEIGHT, found.num_terms)
        )

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

        def read() -> RequestTerminology:
            glossaries = tuple(self.store.read_dictionaries(owner, glossary.id) for glossary in versions)
            return RequestTerminology(glossaries, requested)

        return self._cached.get(key, read)
