"""docs/reference/settings*.md and `dragoman serve --help` list every setting."""

import inspect
import re
import sys
from pathlib import Path

import pytest

from service.cli import app as cli
from service.cli import serve
from service.cli.help import grouped_settings
from service.settings.groups import GROUPS
from service.settings.settings import ENV_PREFIX, Settings, load_settings
from tests.docs.settings_page import PageError, update_tables
from tests.paths import ROOT

PAGES = {
    path.name: path.read_text(encoding="utf8") for path in (ROOT / "docs" / "reference").glob("settings*.md")
}
PAGE = PAGES["settings.md"]
GROUPED = [name for group in GROUPS.values() for name in group.model_fields]
WIDE = 200
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)


def test_every_setting_is_in_one_group_and_has_a_meaning() -> None:
    assert sorted(GROUPED) == sorted(Settings.model_fields), "make it a base of Settings"
    mute = [name for name, field in Settings.model_fields.items() if not field.description]
    assert mute == [], "write a docstring below them in service/settings/groups.py"


def test_each_setting_is_on_one_page() -> None:
    pages = "".join(PAGES.values())
    rows = [f"\n| `{name}` | `{ENV_PREFIX}{name.upper()}` |" for name in Settings.model_fields]
    headings = [f"\n## {group}\n" for group in GROUPS]

    assert [part for part in [*rows, *headings] if pages.count(part) != 1] == []


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_as_generated(name: str) -> None:
    command = "python -m tests.docs.settings_page docs/reference/settings*.md"

    assert update_tables(PAGES[name]) == PAGES[name], f"write the page: {command}"


def test_a_group_without_a_table_is_an_error() -> None:
    with pytest.raises(PageError, match=r"## Telemetry.* below it, for metrics"):
        update_tables(PAGE[: PAGE.index("## Telemetry")] + "## Telemetry\n\nSee there.\n")


def test_the_page_names_the_settings_that_are_options() -> None:
    (command,) = serve.app.registered_commands
    assert command.callback is not None
    options = [*inspect.signature(command.callback).parameters]
    listed = PAGE.partition("an option of `dragoman serve` (")[2].partition(")")[0]
    named = re.findall(r"`(\w+)`", listed)

    assert [*named, "config"] == options


def test_text_around_the_tables_is_unchanged() -> None:
    reported = "\n## Engine\n\nMuch to tell.\n"
    changed = PAGE.replace("\n## Engine\n", reported).replace("| `replicas` |", "| `copies` |")

    assert update_tables(changed) == PAGE.replace("\n## Engine\n", reported)


def test_a_default_reads_as_it_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {each.name: each for group in grouped_settings().values() for each in group}
    for setting in settings.values():
        if setting.default != "none":
            monkeypatch.setenv(setting.variable, "" if setting.default == "empty" else setting.default)

    loaded = load_settings()

    for name, field in Settings.model_fields.items():
        assert getattr(loaded, name) == field.default, name
        assert settings[name].default != "none" or field.default is None


def test_the_command_lists_every_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDE))
    monkeypatch.setattr(sys, "argv", ["dragoman", "serve", "--help"])

    with pytest.raises(SystemExit):
        cli.main()

    words = " ".join(capsys.readouterr().out.split())
    for group, settings in grouped_settings().items():
        assert f" {group}:" in words
        for setting in settings:
            meaning = setting.meaning.replace("`", "")
            assert f" {setting.name}, {setting.variable} [{setting.default}] {meaning}" in words


def test_the_file_that_the_page_shows_can_be_used(tmp_path: Path) -> None:
    shown = TOML.search(PAGE)
    assert shown is not None
    file = tmp_path / "dragoman.toml"
    file.write_text(shown[1], encoding="utf8")

    assert load_settings(file).requires_key
