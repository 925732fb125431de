"""What a load of hostile clients says of ordinary ones, from records made by hand; and a short load."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.clients import NO_RESPONSE, RequestOutcome
from bench.hostile import attacks, shares
from bench.hostile.__main__ import has_failed, load, summarise, summarise_memory
from bench.hostile.attacks import ATTACKS, MEMORY_KINDS, with_key
from bench.hostile.clients import BEHAVIOURS, LEFT, Record, Site, record_expected
from bench.hostile.service import SETTINGS, make_site
from bench.processes import MIB, MemorySample
from dragoman.bundle import open_bundle
from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

SEEN = [MemorySample(float(second), (100 + second) * MIB) for second in range(10)]
TEXTS = ["ein hund", "eine katze", "zwei hunde"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server with the engine's double, and keys."""
    bundle = write_bundle(tmp_path / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    url = f"sqlite:///{tmp_path / 'accounts.db'}"
    settings: dict[str, Any] = {
        name.removeprefix("DRAGOMAN_").lower(): value for name, value in SETTINGS.items()
    }
    with router_of(double, bundle) as router, ready_client(router, database_url=url, **settings) as client:
        yield make_site(str(client.base_url).rstrip("/"), url)
        double.released.set()


@pytest.mark.parametrize(
    ("record", "wrong_afterwards"),
    [
        (Record(ordinary=[RequestOutcome(1, 1, 200)], wrong=["a"]), 0),
        (Record(ordinary=[RequestOutcome(1, 1, NO_RESPONSE)]), 0),
        (Record(ordinary=[RequestOutcome(1, 1, 500)]), 0),
        (Record(hostile={"bad JSON": [RequestOutcome(1, 1, 500)]}), 0),
        (Record(ordinary=[RequestOutcome(1, 1, 200)]), 1),
    ],
    ids=["wrong", "lost", "failed", "failed for another", "wrong afterwards"],
)
def test_a_load_fails_if_an_answer_is_wrong_or_lost_or_the_server_fails(
    record: Record, wrong_afterwards: int
) -> None:
    assert has_failed(summarise(record, SEEN, 0, wrong_afterwards))


def test_rejections_and_disconnections_do_not_fail_a_load() -> None:
    hostile = {
        "leaving": [RequestOutcome(1, 1, LEFT)],
        "bad JSON": [RequestOutcome(1, 1, 400), RequestOutcome(1, 1, NO_RESPONSE)],
    }

    record = Record([RequestOutcome(1, 0.5, 200), RequestOutcome(2, 1, 429)], [], hostile)

    summary = summarise(record, SEEN, 0, 0)

    assert not has_failed(summary)
    assert summary["ordinary"] == {
        "requests": 2,
        "wrong": 0,
        "lost": 0,
        "wrong_afterwards": 0,
        "statuses": {"200": 1, "429": 1},
        "p50_ms": 500.0,
        "p99_ms": 500.0,
    }
    assert summary["hostile"] == {
        "bad JSON": {"requests": 2, "statuses": {"400": 1, "no answer": 1}, "p99_ms": 1000.0},
        "leaving": {"requests": 1, "statuses": {"left": 1}, "p99_ms": 1000.0},
    }


def test_memory_is_compared_between_the_second_third_of_the_time_and_the_last() -> None:
    memory = summarise_memory(SEEN)

    assert (memory["second_third_mib"], memory["last_third_mib"]) == (104.0, 107.5)
    assert (memory["start_mib"], memory["end_mib"], memory["most_mib"]) == (100.0, 109.0, 109.0)


def test_memory_is_reported_after_a_minute() -> None:
    seen = [MemorySample(float(second), (100 + min(second, 10)) * MIB) for second in range(601)]

    assert summarise_memory(seen)["one_minute_mib"] == 110.0


@pytest.mark.parametrize("kind", sorted(MEMORY_KINDS))
def test_the_memory_that_an_attack_imports_fits_the_default_limit_of_a_body(kind: str) -> None:
    [post] = attacks.draw_posts(kind, TEXTS)
    assert len(post.body) < 10 * MIB


@pytest.mark.parametrize("kind", ATTACKS)
def test_an_attack_is_the_same_for_the_same_seed_and_says_its_own_length(kind: str) -> None:
    first, second = (with_key(ATTACKS[kind](Random(3), TEXTS), "key") for _ in range(2))  # noqa: S311 -- no secret

    assert first == second
    head, _, body = first.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head


def test_ordinary_answers_are_right_among_all_kinds_of_clients(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attacks, "NUM_IMPORTED_PAIRS", 1000)
    known = asyncio.run(record_expected(site, TEXTS))
    assert known["ein hund"] == ("EIN HUND", -0.5)

    record = asyncio.run(load(site, known, clients=2 * len(BEHAVIOURS), seconds=0.0))

    assert record.wrong == []
    assert {one.status for one in record.ordinary} == {200}
    assert record.hostile.keys() == BEHAVIOURS.keys()
    assert {one.status for answers in record.hostile.values() for one in answers} & {500, 504} == set()
    assert {one.status for one in record.hostile["wrong key"]} == {401}


def test_a_large_glossary_is_imported_and_then_used(site: Site) -> None:
    known = asyncio.run(record_expected(site, TEXTS))

    record = asyncio.run(
        load(site, known, clients=3, seconds=60.0, kinds=[attacks.GLOSSARY_KIND], max_requests=200)
    )

    statuses = {one.status for one in record.hostile[attacks.GLOSSARY_KIND]}
    assert statuses == {200, 201}


def test_a_load_ends_after_a_number_of_requests(site: Site) -> None:
    known = asyncio.run(record_expected(site, TEXTS))

    record = asyncio.run(load(site, known, clients=6, seconds=600.0, kinds=["wrong key"], max_requests=20))

    assert 20 <= record.num_requests < 40


def test_latencies_alone_are_those_of_all_kinds_together() -> None:
    quick, slow = (shares.SmallLoad(Record(ordinary=[RequestOutcome(1, seconds, 200)])) for seconds in (1, 2))
    beside = shares.SmallLoad(Record(ordinary=[RequestOutcome(1, 6, 200)]))

    figures = shares.summarise(
        {"a": shares.Comparison(quick, beside, {}), "b": shares.Comparison(slow, beside, {})}
    )

    assert figures["alone"]["requests"]["statuses"] == {"200": 2}
    assert figures["kinds"]["a"]["requests"]["p99_ratio"] == 3.0
