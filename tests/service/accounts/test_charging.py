"""What is counted, and the limit that it never passes."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.accounts.accounts import Accounts
from service.accounts.database import Database
from service.accounts.errors import QuotaExceeded, StoreError
from service.accounts.key_store import KeyStore
from service.accounts.keys import ANONYMOUS, KeyLimits, KeyOptions
from service.accounts.usage import Charge, Usage, UsageStore
from tests.service.accounts.conftest import NOON, Times, new_key, open_accounts

MONTH = "2026-11"


def limited(characters: int | None) -> KeyOptions:
    return KeyOptions("tests", limits=KeyLimits(characters_per_month=characters))


def test_charges_add_up_by_key(accounts: Accounts, keys: KeyStore) -> None:
    first, second = (accounts.identify(new_key(keys).presented) for _ in range(2))
    accounts.charge(first, 10)
    accounts.charge(first, 5, documents=1)
    accounts.charge(second, 1)
    assert accounts.usage(first) == Usage(MONTH, characters=15, requests=2, documents=1)
    assert accounts.usage(second) == Usage(MONTH, characters=1, requests=1)


def test_a_limit_can_be_reached_but_not_exceeded(accounts: Accounts, keys: KeyStore) -> None:
    caller = accounts.identify(new_key(keys, limited(10)).presented)
    with pytest.raises(QuotaExceeded):  # the first of its month
        accounts.charge(caller, 11)
    assert accounts.usage(caller) == Usage(MONTH)
    accounts.charge(caller, 7)
    with pytest.raises(QuotaExceeded) as refused:
        accounts.charge(caller, 4)
    assert (refused.value.limit, refused.value.used, refused.value.requested) == (10, 7, 4)
    assert "4 more characters exceed the limit of 10 in 2026-11 (UTC), of which 7 are used" in str(
        refused.value
    )
    assert accounts.usage(caller) == Usage(MONTH, characters=7, requests=1)
    accounts.charge(caller, 3)
    assert accounts.usage(caller).characters == 10


def test_months_begin_at_midnight_utc(accounts: Accounts, keys: KeyStore, times: Times) -> None:
    caller = accounts.identify(new_key(keys, limited(10)).presented)
    times.now = NOON.replace(day=30, hour=23, minute=59).astimezone()  # of whatever zone
    accounts.charge(caller, 10)
    times.now += timedelta(minutes=1)
    assert accounts.usage(caller) == Usage("2026-12")
    accounts.charge(caller, 10)
    assert accounts.usage(caller) == Usage("2026-12", characters=10, requests=1)


def test_a_refund_restores_once_everything_but_the_request_count(accounts: Accounts, keys: KeyStore) -> None:
    caller = accounts.identify(new_key(keys, limited(10)).presented)
    accounts.charge(caller, 2)
    failed = accounts.charge(caller, 8, documents=1)
    accounts.refund(failed)
    with pytest.raises(StoreError, match="cannot be refunded"):
        accounts.refund(failed)
    assert accounts.usage(caller) == Usage(MONTH, characters=2, requests=2)


def test_a_refund_counts_in_the_month_of_its_charge(accounts: Accounts, keys: KeyStore, times: Times) -> None:
    caller = accounts.identify(new_key(keys).presented)
    failed = accounts.charge(caller, 8)
    times.now += timedelta(days=30)
    accounts.charge(caller, 3)
    accounts.refund(failed)
    assert accounts.usage(caller).characters == 3
    times.now -= timedelta(days=30)
    assert accounts.usage(caller).characters == 0


def test_a_negative_charge_is_rejected(accounts: Accounts, keys: KeyStore) -> None:
    caller = accounts.identify(new_key(keys).presented)
    with pytest.raises(ValueError, match="-1 characters"):
        accounts.charge(caller, -1)


def test_callers_without_a_key_are_not_counted(url: str, times: Times) -> None:
    with open_accounts(url, times, requires_key=False) as accounts:
        accounts.refund(accounts.charge(ANONYMOUS, 10))
        assert accounts.usage(ANONYMOUS) == Usage(MONTH)
    with closing(Accounts.open(None, requires_key=False)) as accounts:
        accounts.refund(accounts.charge(ANONYMOUS, 10))


def test_the_usage_of_a_key_is_listed_by_month_newest_first(database: Database, keys: KeyStore) -> None:
    key_id = new_key(keys).key.id
    usage = UsageStore(database)
    for month, characters in (("2026-11", 1), ("2027-01", 3), ("2026-12", 2)):
        usage.charge(Charge(key_id, month, characters, 0), None)
    assert [(used.month, used.characters) for used in usage.of_key(key_id)] == [
        ("2027-01", 3),
        ("2026-12", 2),
        ("2026-11", 1),
    ]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Shared by all examples, each of which has a key of its own."""
    database = Database.open(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'accounts.db'}")
    yield database
    database.close()


@settings(max_examples=20)
@given(limit=st.integers(0, 50), steps=st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=20))
def test_usage_is_the_accepted_charges_less_refunds(
    shared: Database, limit: int, steps: list[tuple[int, bool]]
) -> None:
    key_id = new_key(KeyStore(shared)).key.id
    usage, total = UsageStore(shared), 0
    for characters, is_refunded in steps:
        charge = Charge(key_id, MONTH, characters, 0)
        if total + characters > limit:
            with pytest.raises(QuotaExceeded):
                usage.charge(charge, limit)
            continue
        usage.charge(charge, limit)
        total += characters
        if is_refunded:
            usage.refund(charge)
            total -= characters
        assert usage.get_month(key_id, MONTH).characters == total
