"""The requests of hostile clients, and a short load of them."""

import asyncio
from random import Random

import pytest

from bench.hostile import attacks
from bench.hostile.__main__ import load
from bench.hostile.attacks import ATTACKS, MEMORY_KINDS, with_key
from bench.hostile.clients import BEHAVIOURS, Site, record_expected
from bench.processes import MIB
from tests.commands.bench.conftest import TEXTS


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
