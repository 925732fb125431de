"""The service that is attacked, with a new database."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.hostile.attacks import MEMORY_KINDS, NUM_PAIRS, alike_sources
from bench.hostile.clients import Site
from bench.processes import memory
from bench.server import CPUS, service_process
from dragoman.types import Pair
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, KeyOptions
from service.memories.pairs import SegmentPair
from service.memories.store import MemoryStore

SETTINGS: Mapping[str, str] = {
    "DRAGOMAN_REQUIRES_KEY": "true",
    "DRAGOMAN_CLIENT_TIMEOUT_S": "5",
    "DRAGOMAN_DOCUMENT_LIFETIME_S": "60",
}


@contextmanager
def attacked_service(bundle: Path, kinds: Collection[str] = ()) -> Iterator[tuple[Site, int]]:
    """Start the service; yield it with two keys and what these kinds of attacks need, and its process id."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/dragoman.db"
        with service_process(bundle, CPUS, {"DRAGOMAN_DATABASE_URL": url, **SETTINGS}) as service:
            yield make_site(service.address, url, kinds), service.pid


def make_site(address: str, url: str, kinds: Collection[str] = ()) -> Site:
    """Return a server with two new API keys in its database, and with a memory if these attacks need one."""
    options = KeyOptions("soak", DEFAULT_SCOPES, NO_LIMITS)
    with closing(Database.open(url)) as database:
        now = datetime.now(UTC)
        ordinary, hostile = (KeyStore(database).create(options, now) for _ in range(2))
        if not MEMORY_KINDS.isdisjoint(kinds):
            pairs = [SegmentPair(source, "x") for source in alike_sources(NUM_PAIRS)]
            MemoryStore(database).add(hostile.key.id, "x", Pair("de", "en"), pairs)
    return Site(address, ordinary.presented, hostile.presented)


def resident_bytes(*pids: int) -> int:
    return sum(memory(pid).resident_bytes for pid in pids)
