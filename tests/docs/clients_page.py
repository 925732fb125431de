"""Write the table of programs that tests speak for: `python -m tests.docs.clients_page`.

The text around the table stays unchanged.
"""

import re
import tomllib
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from tests.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "clients.md"
LIST = Path(__file__).with_name("clients.toml")
HEAD = "| program | API | settings |\n|---|---|---|\n"
TABLE = re.compile(r"\| program \|[^\n]*\n\|[-|]+\n(?:\|[^\n]*\n)*")


class Call(BaseModel):
    """A request of a program, and what it reads in the response."""

    request: str
    """Method and path."""
    type: str = "application/json"
    body: str = ""
    """Text with line feeds; those of several parts are sent as CRLF."""
    headers: dict[str, str] = {}
    reads: dict[str, str | int | bool]
    """Values of fields, by their names and indices with points between."""


class Client(BaseModel):
    """A program, and the tests that send what it sends, or its requests."""

    name: str
    api: str
    setting: str
    tests: list[str] = []
    """Path below tests/service, and name of each."""
    calls: list[Call] = []


def clients() -> list[Client]:
    """Return the programs of the list."""
    content = tomllib.loads(LIST.read_text(encoding="utf8"))
    return TypeAdapter(list[Client]).validate_python(content["client"])


def with_table(page: str) -> str:
    """Return the page with the table of today's list."""
    rows = ((each.name, each.api, each.setting.replace("|", r"\|")) for each in clients())
    table = HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return TABLE.sub(lambda _: table, page, count=1)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf8")), encoding="utf8")
