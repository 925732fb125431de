"""The service that is attacked, with a new database."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.hostile.clients import Site
from bench.processes import memory
from bench.server import CPUS, service_process
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, KeyOptions

SETTINGS: Mapping[str, str] = {
    "DRAGOMAN_REQUIRES_KEY": "true",
    "DRAGOMAN_CLIENT_TIMEOUT_S": "5",
    "DRAGOMAN_DOCUMENT_LIFETIME_S": "60",
    "DRAGOMAN_WEBHOOK_SECRET": "0123456789abcdef0123456789abcdef",
}


@contextmanager
def attacked_service(bundle: Path) -> Iterator[tuple[Site, int]]:
    """Start the service; yield it with two keys, and its process id."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/dragoman.db"
        with service_process(bundle, CPUS, {"DRAGOMAN_DATABASE_URL": url, **SETTINGS}) as service:
            yield make_site(service.address, url), service.pid


def make_site(address: str, url: str) -> Site:
    """Return a server with two new API keys in its database."""
    options = KeyOptions("soak", DEFAULT_SCOPES, NO_LIMITS)
    with closing(Database.open(url)) as database:
        keys = [KeyStore(database).create(options, datetime.now(UTC)).presented for _ in range(2)]
    return Site(address, *keys)


def resident_bytes(*pids: int) -> int:
    return sum(memory(pid).resident_bytes for pid in pids)
