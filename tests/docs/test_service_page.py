"""docs/service.md keeps step with the code."""

import re
from pathlib import Path

from service.front.errors import STATUSES
from service.native.requests import TranslateRequest
from service.settings import ENV_PREFIX, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf8")


def rows(*, after: str) -> list[list[str]]:
    """Cells of the first table below a heading, without its head."""
    table = re.search(r"\n\|[^\n]*\n\|[-| ]*\n((?:\|[^\n]*\n)+)", PAGE[PAGE.index(after) :])
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def test_every_setting_is_on_the_page_with_its_variable_and_default() -> None:
    documented = {cells[0].strip("`"): cells for cells in rows(after="## Settings")}

    assert set(documented) == set(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        _, variable, default, _ = documented[name]
        assert variable == f"`{ENV_PREFIX}{name.upper()}`"
        if field.default_factory is None:
            assert default.strip("`") == str(field.default)


def test_every_field_of_a_request_is_on_the_page() -> None:
    documented = {name for cells in rows(after="## Translating") for name in re.findall(r"`(\w+)`", cells[0])}

    assert documented == set(TranslateRequest.model_fields)


def test_every_kind_of_error_is_on_the_page_with_its_status() -> None:
    documented = {
        kind: int(status)
        for cells in rows(after="## Errors")
        for kind, status in zip(re.findall(r"`(\w+)`", cells[1]), re.findall(r"\d+", cells[0]), strict=True)
    }

    assert documented == {kind.value: status for kind, status in STATUSES.items()}
