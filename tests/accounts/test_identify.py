"""Who is let in with which key."""

import logging
from datetime import timedelta

import pytest

from service.accounts.accounts import Accounts
from service.accounts.errors import KeyRejected, ScopeMissing, UnknownKey
from service.accounts.key_store import KeyStore
from service.accounts.keys import ANONYMOUS, KeyLimits, KeyOptions, Scope
from tests.accounts.conftest import KEY_TTL_S, NOON, Times, new_key, open_accounts

WISHES = KeyOptions(
    "Ann's",
    scopes=frozenset({Scope.TRANSLATE}),
    limits=KeyLimits(1000, 20),
    expires_at=NOON + timedelta(days=1),
)


def test_a_caller_has_the_name_and_limits_of_its_key(accounts: Accounts, keys: KeyStore) -> None:
    new = new_key(keys, WISHES)
    caller = accounts.identify(new.presented)
    assert (caller.key_id, caller.name) == (new.key.id, "Ann's")
    assert caller.scopes == {Scope.TRANSLATE}
    assert caller.limits == KeyLimits(1000, 20)
    assert accounts.identify(new.presented + ":fx") == caller


def test_a_stored_key_is_read_unchanged(keys: KeyStore) -> None:
    new = new_key(keys, WISHES)
    assert keys.find(new.key.id) == new.key
    assert keys.list() == [new.key]


def test_a_caller_has_only_the_scopes_of_its_key(accounts: Accounts, keys: KeyStore) -> None:
    caller = accounts.identify(new_key(keys, WISHES).presented)
    caller.require(Scope.TRANSLATE)
    with pytest.raises(ScopeMissing) as refused:
        caller.require(Scope.ADMIN)
    assert isinstance(refused.value, KeyRejected)
    assert "`admin`" in str(refused.value)


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
    with Accounts.open(None, requires_key=False) as accounts:
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
    expired, revoked = new_key(keys, WISHES), new_key(keys)
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


def test_a_revoked_key_works_no_longer_than_it_is_cached(
    accounts: Accounts, keys: KeyStore, times: Times
) -> None:
    new = new_key(keys)
    accounts.identify(new.presented)
    keys.revoke(new.key.id, NOON)
    times.monotonic_s += KEY_TTL_S
    with pytest.raises(UnknownKey):
        accounts.identify(new.presented)


def test_a_cached_key_needs_no_database_query(accounts: Accounts, keys: KeyStore, times: Times) -> None:
    new = new_key(keys)
    caller = accounts.identify(new.presented)
    keys.revoke(new.key.id, NOON)
    times.monotonic_s += KEY_TTL_S * 0.9
    assert accounts.identify(new.presented) == caller
    with pytest.raises(UnknownKey):  # remembered or not, the secret must be right
        accounts.identify(new.presented[:-4] + "AAAA")


def test_a_cached_key_expires_on_time(accounts: Accounts, keys: KeyStore, times: Times) -> None:
    new = new_key(keys, WISHES)
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
