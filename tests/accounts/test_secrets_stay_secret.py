"""No key and no password is in a log, an error, a `repr` or the database's file."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from service.accounts.accounts import Accounts
from service.accounts.database import Database
from service.accounts.errors import AccountsError
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions, NewKey, caller_from_key, parse_key
from service.accounts.usage import Charge, UsageStore
from tests.accounts.conftest import NOON, new_key

NOT_THERE = "0badc0de"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(f"sqlite:///{tmp_path / 'accounts.db'}")) as opened:
        yield opened


@pytest.fixture
def new(database: Database) -> NewKey:
    return new_key(KeyStore(database))


def secret_of(new: NewKey) -> str:
    return new.presented.split("_", 2)[2]


def test_no_repr_has_a_secret_or_its_hash(new: NewKey) -> None:
    reported = repr([new, new.key, parse_key(new.presented), caller_from_key(new.key), KeyOptions("mine")])
    assert secret_of(new) not in reported
    assert repr(new.key.secret_sha256) not in reported


def test_no_file_of_the_database_has_a_secret(tmp_path: Path, new: NewKey, database: Database) -> None:
    for _ in range(2):  # the log of changes first, then the file itself
        for file in tmp_path.iterdir():
            assert secret_of(new).encode() not in file.read_bytes()
        database.close()


def test_no_log_and_no_error_has_a_secret(
    tmp_path: Path, new: NewKey, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    errors = []
    with Accounts.open(f"sqlite:///{tmp_path / 'accounts.db'}", requires_key=True) as accounts:
        KeyStore(database).revoke(new.key.id, NOON)
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


def test_a_database_error_does_not_quote_the_row(database: Database) -> None:
    with pytest.raises(AccountsError) as failed:
        UsageStore(database).charge(Charge(NOT_THERE, "2026-11", 5, 0), None)
    assert NOT_THERE not in "".join(traceback.format_exception(failed.value))
