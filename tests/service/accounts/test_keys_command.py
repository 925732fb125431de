"""The commands about keys, as an operator uses them."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.accounts.accounts import Accounts
from service.accounts.errors import KeyInvalid, QuotaExceeded, StoreError
from service.accounts.keys import DEFAULT_SCOPES, KeyLimits, Scope
from service.cli.keys import keys
from tests.service.keys import id_of

Command = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `dragoman keys` with these arguments, on a database of its own."""
    monkeypatch.setenv("DRAGOMAN_DATABASE_URL", f"sqlite:///{tmp_path / 'accounts.db'}")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(keys, arguments)

    return run


def made_by(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


@pytest.fixture
def accounts(tmp_path: Path, command: Command) -> Iterator[Accounts]:
    del command
    with closing(Accounts.open(f"sqlite:///{tmp_path / 'accounts.db'}", requires_key=True)) as opened:
        yield opened


def test_a_created_key_is_accepted_by_the_server(command: Command, accounts: Accounts) -> None:
    caller = accounts.identify(made_by(command("create", "Ann")))
    assert (caller.name, caller.scopes, caller.limits) == ("Ann", DEFAULT_SCOPES, KeyLimits())


def test_stdout_has_only_the_key_and_stderr_never_has_it(command: Command) -> None:
    result = command("create", "Ann")
    assert re.fullmatch(r"drg_[0-9a-f]{8}_[A-Za-z0-9_-]{43}\n", result.stdout)
    assert id_of(result.stdout) in result.stderr
    assert result.stdout.strip() not in result.stderr


def test_options_set_the_limits_and_scopes_of_a_key(command: Command, accounts: Accounts) -> None:
    scopes = ["--scope", "translate", "--scope", "admin"]
    limits = ["--characters-per-month", "100", "--requests-per-minute", "5"]
    caller = accounts.identify(made_by(command("create", "Ann", *scopes, *limits)))
    assert caller.scopes == {Scope.TRANSLATE, Scope.ADMIN}
    assert caller.limits == KeyLimits(100, 5)
    with pytest.raises(QuotaExceeded):
        accounts.charge(caller, 101)


def test_an_expiry_is_a_date_in_utc(command: Command) -> None:
    made_by(command("create", "Ann", "--expires", "2099-01-31"))
    assert "2099-01-31T00:00Z" in command("list").stdout


def test_a_list_names_every_key_and_no_secret(command: Command) -> None:
    made = [made_by(command("create", name, "--scope", "translate")) for name in ("Ann", "Bob")]
    made_by(command("revoke", id_of(made[0])))
    listed = command("list").stdout
    rows = [re.split(r"\s{2,}", line) for line in listed.splitlines()]
    assert rows[0][:4] == ["ID", "NAME", "STATE", "SCOPES"]
    assert [row[:4] for row in rows[1:]] == [
        [id_of(made[0]), "Ann", "revoked", "translate"],
        [id_of(made[1]), "Bob", "valid", "translate"],
    ]
    assert not any(key.split("_", 2)[2] in listed for key in made)


@pytest.mark.parametrize("arguments", [["list"], ["usage"], ["revoke", "00000000"]])
def test_only_creating_a_key_creates_the_database(
    command: Command, tmp_path: Path, arguments: list[str]
) -> None:
    error = command(*arguments).exception

    assert isinstance(error, StoreError)
    assert str(error).endswith("accounts.db: it does not exist; `dragoman keys create NAME` creates it")
    assert list(tmp_path.iterdir()) == []


def test_usage_is_shown_for_all_keys_or_one(command: Command, accounts: Accounts) -> None:
    month = f"{datetime.now(UTC):%Y-%m}"
    used, unused = (made_by(command("create", name, "--characters-per-month", "100")) for name in "AB")
    accounts.charge(accounts.identify(used), 42, documents=1)
    rows = [line.split() for line in command("usage").stdout.splitlines()[1:]]
    assert rows == [
        [id_of(used), "A", month, "42", "100", "1", "1", "0"],
        [id_of(unused), "B", month, "0", "100", "0", "0", "0"],
    ]
    rows = [line.split() for line in command("usage", id_of(used)).stdout.splitlines()[1:]]
    assert rows == [[id_of(used), "A", month, "42", "100", "1", "1"]]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["create", " "], "name"),
        (["create", "Ann", "--expires", "tomorrow"], "expires"),
        (["create", "Ann", "--expires", "2020-01-01"], "expires"),
        (["create", "Ann", "--characters-per-month", "-1"], "characters_per_month"),
        (["create", "Ann", "--requests-per-minute", "0"], "requests_per_minute"),
        (["revoke", "00000000"], "id"),
        (["usage", "00000000"], "id"),
    ],
)
def test_an_invalid_option_is_reported_by_field(command: Command, arguments: list[str], field: str) -> None:
    made_by(command("create", "Ann"))
    error = command(*arguments).exception
    assert isinstance(error, KeyInvalid)
    assert error.field == field


def test_an_unknown_scope_is_a_wrong_option(command: Command) -> None:
    result = command("create", "Ann", "--scope", "everything")
    assert result.exit_code == 2
    assert "translate" in result.stderr


def test_an_unusable_database_is_reported(command: Command, tmp_path: Path) -> None:
    (tmp_path / "accounts.db").write_bytes(b"garbage " * 1000)
    assert isinstance(command("list").exception, StoreError)
