"""Which key admits whom, the form of keys, and that no key is in a log, an error or the database."""

import hashlib
import logging
import traceback
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.accounts.accounts import KEY_TTL_S, Accounts
from service.accounts.database import Database
from service.accounts.errors import AccountsError, KeyInvalid, ScopeMissing, UnknownKey
from service.accounts.key_store import KeyStore
from service.accounts.keys import (
    ANONYMOUS,
    DECOY_SHA256,
    KeyLimits,
    KeyOptions,
    NewKey,
    ParsedKey,
    Scope,
    caller_from_key,
    is_secret_of,
    make_key,
    parse_key,
)
from service.accounts.usage import Charge, UsageStore
from tests.service.accounts.conftest import NOON, Times, new_key, open_accounts

KEY_OPTIONS = KeyOptions(
    "Ann's",
    scopes=frozenset({Scope.TRANSLATE}),
    limits=KeyLimits(1000, 20),
    expires_at=NOON + timedelta(days=1),
)


def test_a_caller_has_the_name_the_limits_and_only_the_scopes_of_its_key(
    accounts: Accounts, keys: KeyStore
) -> None:
    new = new_key(keys, KEY_OPTIONS)
    caller = accounts.identify(new.presented)
    assert (caller.key_id, caller.name) == (new.key.id, "Ann's")
    assert caller.scopes == {Scope.TRANSLATE}
    assert caller.limits == KeyLimits(1000, 20)
    assert accounts.identify(new.presented + ":fx") == caller
    caller.require(Scope.TRANSLATE)
    with pytest.raises(ScopeMissing, match="`admin`") as refused:
        caller.require(Scope.ADMIN)
    assert isinstance(refused.value, ScopeMissing)


def test_a_key_needs_the_database_until_it_is_cached_and_again_when_that_ends(
    accounts: Accounts, keys: KeyStore, times: Times
) -> None:
    presented = new_key(keys, KEY_OPTIONS).presented
    found = [accounts.has_cached(presented)]
    accounts.identify(presented)
    found.append(accounts.has_cached(presented))
    times.monotonic_s += KEY_TTL_S - 0.5
    found.append(accounts.has_cached(presented))

    assert found == [False, True, False]
    assert accounts.has_cached(None)


def test_a_stored_key_is_read_unchanged(keys: KeyStore) -> None:
    new = new_key(keys, KEY_OPTIONS)
    assert keys.find(new.key.id) == new.key
    assert keys.list() == [new.key]


def test_anonymous_callers_are_accepted_if_keys_are_not_required(
    url: str, times: Times, keys: KeyStore
) -> None:
    with open_accounts(url, times, requires_key=False) as accounts:
        assert accounts.identify(None) is ANONYMOUS
        new = new_key(keys)
        assert accounts.identify(new.presented).key_id == new.key.id
        with pytest.raises(UnknownKey):
            accounts.identify(new.presented[:-1])


def test_keys_are_ignored_without_a_database_and_anonymous_callers_are_no_operators() -> None:
    with closing(Accounts.open(None, requires_key=False)) as accounts:
        assert accounts.identify("whatever a client insists on sending") is ANONYMOUS
    with pytest.raises(ScopeMissing):
        ANONYMOUS.require(Scope.ADMIN)


def test_another_secret_or_another_id_is_unknown(accounts: Accounts, keys: KeyStore) -> None:
    first, second = new_key(keys), new_key(keys)
    secret = first.presented.removeprefix(f"drg_{first.key.id}_")
    for presented in ("drg_00000000_" + secret, f"drg_{second.key.id}_{secret}", "no key at all"):
        with pytest.raises(UnknownKey):
            accounts.identify(presented)


def test_expired_and_revoked_keys_look_unknown_and_only_the_log_distinguishes_them(
    accounts: Accounts, keys: KeyStore, times: Times, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    expired, revoked = new_key(keys, KEY_OPTIONS), new_key(keys)
    keys.revoke(revoked.key.id, NOON)
    times.now += timedelta(days=1)
    messages = set()
    for new in (expired, revoked):
        with pytest.raises(UnknownKey) as refused:
            accounts.identify(new.presented)
        messages.add(str(refused.value))
    with pytest.raises(UnknownKey) as unknown:
        accounts.identify("drg_00000000_" + "A" * 43)
    assert messages == {str(unknown.value)}
    assert f"{expired.key.id} was rejected: it has expired" in caplog.text
    assert f"{revoked.key.id} was rejected: it was revoked" in caplog.text


def test_a_revoked_key_is_logged_only_if_its_secret_matches(
    accounts: Accounts, keys: KeyStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    revoked = new_key(keys)
    keys.revoke(revoked.key.id, NOON)
    with pytest.raises(UnknownKey):
        accounts.identify(f"drg_{revoked.key.id}_" + "A" * 43)
    assert revoked.key.id not in caplog.text


def test_a_cached_key_needs_no_database_query_and_a_revoked_one_works_no_longer_than_it_is_cached(
    accounts: Accounts, keys: KeyStore, times: Times
) -> None:
    new = new_key(keys)
    caller = accounts.identify(new.presented)
    keys.revoke(new.key.id, NOON)
    times.monotonic_s += KEY_TTL_S * 0.9
    assert accounts.identify(new.presented) == caller
    with pytest.raises(UnknownKey):  # remembered or not, the secret must be right
        accounts.identify(new.presented[:-4] + "AAAA")
    times.monotonic_s += KEY_TTL_S * 0.1
    with pytest.raises(UnknownKey):
        accounts.identify(new.presented)


def test_a_cached_key_expires_on_time(accounts: Accounts, keys: KeyStore, times: Times) -> None:
    new = new_key(keys, KEY_OPTIONS)
    accounts.identify(new.presented)
    times.now += timedelta(days=1)
    with pytest.raises(UnknownKey):
        accounts.identify(new.presented)


def test_a_key_works_as_soon_as_it_is_created(accounts: Accounts, keys: KeyStore) -> None:
    with pytest.raises(UnknownKey):
        accounts.identify("drg_00000000_" + "A" * 43)
    new = new_key(keys)
    assert accounts.identify(new.presented).key_id == new.key.id


def test_revoking_again_does_not_move_the_time(keys: KeyStore) -> None:
    new = new_key(keys)
    keys.revoke(new.key.id, NOON)
    keys.revoke(new.key.id, NOON + timedelta(days=1))
    found = keys.find(new.key.id)
    assert found is not None
    assert found.revoked_at == NOON


SECRET = "A" * 43


def test_only_the_sha256_of_a_secret_is_stored() -> None:
    new = make_key(KeyOptions("mine"), NOON)
    secret = new.presented.removeprefix(f"drg_{new.key.id}_")
    assert new.key.secret_sha256 == hashlib.sha256(secret.encode()).digest()


@pytest.mark.parametrize(
    "presented",
    [
        "",
        "drg",
        "drg_0123abcd_",
        f"drg_0123ABCD_{SECRET}",
        f"drg_0123abc_{SECRET}",
        f"drg_0123abcd_{SECRET}A",
        f"drg_0123abcd_{SECRET[1:]}",
        f"drg_0123abcd_{SECRET}:pro",
        f"drg_0123abcd_{SECRET}\n",
        f" drg_0123abcd_{SECRET}",
        f"drg_0123abcd_{'é' * 43}",
        f"drg_{chr(0x660) * 8}_{SECRET}",
    ],
)
def test_a_malformed_key_is_rejected(presented: str) -> None:
    assert parse_key(presented) is None


@given(st.text())
def test_parsing_any_text_as_a_key_never_fails(presented: str) -> None:
    parts = parse_key(presented)
    assert parts is None or presented.removesuffix(":fx") == f"drg_{parts.id}_{parts.secret}"


def test_the_dummy_hash_for_unknown_ids_matches_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one whose hash were the decoy."""

    class Decoy:
        def digest(self) -> bytes:
            return DECOY_SHA256

    monkeypatch.setattr(hashlib, "sha256", lambda _: Decoy())
    assert not is_secret_of(ParsedKey("0123abcd", SECRET), None)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (KeyOptions("  "), "name"),
        (KeyOptions("x" * 201), "name"),
        (KeyOptions("a\x1b[2Jb"), "name"),
        (KeyOptions("mine", scopes=frozenset()), "scopes"),
        (KeyOptions("mine", expires_at=NOON), "expires"),
    ],
)
def test_an_invalid_key_is_rejected_by_field(options: KeyOptions, field: str) -> None:
    with pytest.raises(KeyInvalid) as refused:
        make_key(options, NOON)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("characters", "requests", "field"),
    [
        (-1, None, "characters_per_month"),
        (2**53, None, "characters_per_month"),
        (None, 0, "requests_per_minute"),
    ],
)
def test_an_invalid_limit_is_rejected_by_field(
    characters: int | None, requests: int | None, field: str
) -> None:
    with pytest.raises(KeyInvalid) as refused:
        KeyLimits(characters, requests)
    assert refused.value.field == field


def test_a_key_has_no_operator_scope_by_default() -> None:
    assert Scope.ADMIN not in make_key(KeyOptions("mine"), NOON).key.scopes


NOT_THERE = "0badc0de"


@pytest.fixture
def own_database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(f"sqlite:///{tmp_path / 'accounts.db'}")) as opened:
        yield opened


@pytest.fixture
def new(own_database: Database) -> NewKey:
    return new_key(KeyStore(own_database))


def secret_of(new: NewKey) -> str:
    return new.presented.split("_", 2)[2]


def test_no_repr_has_a_secret_or_its_hash(new: NewKey) -> None:
    reported = repr([new, new.key, parse_key(new.presented), caller_from_key(new.key), KeyOptions("mine")])
    assert secret_of(new) not in reported
    assert repr(new.key.secret_sha256) not in reported


def test_no_file_of_the_database_has_a_secret(tmp_path: Path, new: NewKey, own_database: Database) -> None:
    for _ in range(2):  # the log of changes first, then the file itself
        for file in tmp_path.iterdir():
            assert secret_of(new).encode() not in file.read_bytes()
        own_database.close()


def test_no_log_and_no_error_has_a_secret(
    tmp_path: Path, new: NewKey, own_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    errors = []
    with closing(Accounts.open(f"sqlite:///{tmp_path / 'accounts.db'}", requires_key=True)) as accounts:
        KeyStore(own_database).revoke(new.key.id, NOON)
        wrong_id = f"drg_00000000_{secret_of(new)}"
        wrong_form = new.presented + "x"
        for presented in (new.presented, wrong_id, wrong_form, new.presented[:-1]):
            with pytest.raises(AccountsError) as refused:
                accounts.identify(presented)
            errors.append(refused.value)
    reported = (
        "".join("".join(traceback.format_exception(error)) + repr(error) for error in errors) + caplog.text
    )
    assert secret_of(new)[:-1] not in reported
    assert new.key.id in caplog.text


def test_a_database_error_does_not_quote_the_row(own_database: Database) -> None:
    with pytest.raises(AccountsError) as failed:
        UsageStore(own_database).charge(Charge(NOT_THERE, "2026-11", 5, 0), None)
    assert NOT_THERE not in "".join(traceback.format_exception(failed.value))
