"""Send so many requests, drawn at random from the OpenAPI document, and check every answer against it.

Half of them are such as the document allows, half such as it does not. What breaks a check is written to a
file, as a command of curl.
"""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok

from tests.openapi.conformance import SCHEMA, check, open_server

FINDS = Path(__file__).parents[2] / "runs" / "fuzz" / "openapi"
REQUESTS_PER_TURN = 100


@dataclass(slots=True)
class Tally:
    """What was sent and found so far."""

    finds: Path
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Requests by the API and the status of the answer; 0 where it broke a check."""
    known: dict[str, Path] = field(default_factory=dict)
    """The first request of each find, by its operation and the titles of the checks."""

    @property
    def num_requests(self) -> int:
        return self.statuses.total()

    def send(self, case: Case[Any], address: str) -> None:
        """Send one request, and note what becomes of it."""
        try:
            status = check(case, address)
        except FailureGroup as failures:
            titles = sorted({str(each.title) for each in failures.exceptions if hasattr(each, "title")})
            self._record_position(
                f"{case.operation.label}: {', '.join(titles)}", f"{case.as_curl_command()}\n\n{failures}"
            )
            status = 0
        self.statuses[api_of(case.operation.path), status] += 1

    def _record_position(self, title: str, told: str) -> None:
        if title in self.known:
            return
        path = self.finds / f"{sha256(title.encode()).hexdigest()[:12]}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{title}\n\n{told}\n", encoding="utf8", errors="backslashreplace")
        self.known[title] = path
        print(f"FOUND {title}: {path}", flush=True)


def api_of(path: str) -> str:
    """Whose route a path is."""
    if path.startswith("/v2/"):
        return "deepl"
    return (
        "native"
        if path.startswith("/v1/") or path in {"/healthz", "/readyz", "/metrics"}
        else "libretranslate"
    )


def send_all(num_requests: int, address: str, tally: Tally) -> None:
    """Go round the operations until so many requests were sent; routes without parameters have few."""
    operations = [found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)]
    strategies = [
        st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes_of(operation)])
        for operation in operations
    ]
    while tally.num_requests < num_requests:
        before = tally.num_requests
        for strategy in strategies:
            if tally.num_requests < num_requests:
                send_turn(strategy, address, tally)
        if tally.num_requests == before:
            raise RuntimeError("no operation has a request")


def modes_of(operation: Any) -> Sequence[GenerationMode]:
    """Nothing that is sent to a route without parameters is against the document."""
    return (
        list(GenerationMode)
        if operation.body or list(operation.iter_parameters())
        else [GenerationMode.POSITIVE]
    )


def send_turn(strategy: st.SearchStrategy[Case[Any]], address: str, tally: Tally) -> None:
    """Requests of one operation."""

    @settings(
        max_examples=REQUESTS_PER_TURN,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def send(case: Case[Any]) -> None:
        tally.send(case, address)

    send()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.openapi", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--finds", type=Path, default=FINDS)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # a library tells of every malformed form
    tally = Tally(arguments.finds)
    with TemporaryDirectory() as folder, open_server(Path(folder)) as address:
        send_all(arguments.requests, address, tally)
    for (api, status), count in sorted(tally.statuses.items()):
        print(f"{api:15} {status or 'broke a check':>13} {count:7}")
    print(f"{tally.num_requests} requests; {len(tally.known)} finds")
    return 1 if tally.known else 0


if __name__ == "__main__":
    sys.exit(main())
