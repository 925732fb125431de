"""The commands about API keys: create, list, revoke, usage."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from service.accounts.database import DEFAULT_URL, Database, check_exists
from service.accounts.errors import KeyInvalid
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, Key, KeyLimits, KeyOptions, Scope, month_of
from service.accounts.usage import Usage, UsageStore
from service.cli.options import ConfigOption, new_command_group
from service.cli.tables import print_table
from service.jobs.tables import stored_bytes_by_key
from service.settings.settings import load_settings

keys = new_command_group("keys", "Manage API keys.")

KeyIdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="ID of the key; `dragoman keys list` shows it.")
]


@keys.command()
def create(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the key, such as its holder or purpose.")
    ],
    *,
    scopes: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope",
            help=f"Scope of the key; may be repeated. Default: {', '.join(sorted(DEFAULT_SCOPES))}.",
        ),
    ] = None,
    characters_per_month: Annotated[
        int | None,
        typer.Option(metavar="N", help="Maximum characters per calendar month, UTC. Default: no limit."),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(metavar="N", help="Maximum requests per minute. Default: the server's rate_limit."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="Date, or time, from which the key is rejected, such as 2027-01-31; UTC."
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Create a key and print it.

    The key cannot be shown again, because only its hash is stored.
    """
    arguments = KeyOptions(
        name=name,
        scopes=frozenset(scopes) if scopes else DEFAULT_SCOPES,
        limits=KeyLimits(characters_per_month, requests_per_minute),
        expires_at=None if expires is None else _parse_time(expires),
    )
    with closing(Database.open(_database_url(config))) as database:
        new_key = KeyStore(database).create(arguments, datetime.now(UTC))
    typer.echo(new_key.presented)
    typer.echo(
        f"dragoman: created key {new_key.key.id}; save it now, because it cannot be shown again", err=True
    )


@keys.command("list")
def list_keys(*, config: ConfigOption = None) -> None:
    """List all keys, including expired and revoked ones."""
    with _open_existing(config) as database:
        found = KeyStore(database).list()
    now = datetime.now(UTC)
    header = ("ID", "NAME", "STATE", "SCOPES", "CHARACTERS/MONTH", "REQUESTS/MINUTE", "CREATED", "EXPIRES")
    print_table([header, *(_key_row(key, now) for key in found)])


@keys.command()
def revoke(key_id: KeyIdArgument, *, config: ConfigOption = None) -> None:
    """Revoke a key for good.

    The server rejects it within seconds.
    """
    with _open_existing(config) as database:
        KeyStore(database).revoke(key_id, datetime.now(UTC))


@keys.command()
def usage(
    key_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="ID of a key whose usage to show for every month. Default: this month of all keys.",
        ),
    ] = None,
    *,
    config: ConfigOption = None,
) -> None:
    """Show the usage of keys.

    Without an ID, the usage of all keys in this month, UTC; with one, that of the key in every month.
    """
    stored_bytes: dict[str | None, int] = {}
    with _open_existing(config) as database:
        key_store, usage_store = KeyStore(database), UsageStore(database)
        if key_id is None:
            found = key_store.list()
            used = usage_store.of_keys([key.id for key in found], month_of(datetime.now(UTC)))
            rows = list(zip(found, used, strict=True))
            stored_bytes = stored_bytes_by_key(database)
        else:
            key = key_store.find(key_id)
            if key is None:
                raise KeyInvalid("id", "key not found; `dragoman keys list` shows all keys")
            rows = [(key, used) for used in usage_store.of_key(key_id)]
    header: tuple[str, ...] = ("ID", "NAME", "MONTH", "CHARACTERS", "LIMIT", "REQUESTS", "DOCUMENTS")
    table_rows = [_usage_row(key, used) for key, used in rows]
    if key_id is None:  # bytes stored now, which belong to no month
        header = (*header, "STORED-BYTES")
        table_rows = [
            (*row, str(stored_bytes.get(key.id, 0))) for row, (key, _) in zip(table_rows, rows, strict=True)
        ]
    print_table([header, *table_rows])


def _database_url(config: Path | None) -> str:
    return load_settings(config).database_url or DEFAULT_URL


def _open_existing(config: Path | None) -> closing[Database]:
    """Open a database that has keys; raise a StoreError if its file does not exist."""
    url = _database_url(config)
    check_exists(url)
    return closing(Database.open(url))


def _parse_time(text: str) -> datetime:
    """Parse a date or a time, in UTC unless it has an offset; raise KeyInvalid if it is neither."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise KeyInvalid("expires", f"{text!r} is not a date such as 2027-01-31, or a time") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _key_row(key: Key, now: datetime) -> tuple[str, ...]:
    state = "revoked" if key.revoked_at is not None else "valid" if key.is_valid_at(now) else "expired"
    return (
        key.id,
        key.name,
        state,
        ",".join(sorted(key.scopes)),
        _format_limit(key.limits.characters_per_month),
        _format_limit(key.limits.requests_per_minute),
        _format_time(key.created_at),
        "never" if key.expires_at is None else _format_time(key.expires_at),
    )


def _usage_row(key: Key, used: Usage) -> tuple[str, ...]:
    counts = (
        str(used.characters),
        _format_limit(key.limits.characters_per_month),
        str(used.requests),
        str(used.documents),
    )
    return (key.id, key.name, used.month, *counts)


def _format_limit(limit: int | None) -> str:
    return "-" if limit is None else str(limit)


def _format_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%MZ")
