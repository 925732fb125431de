"""Write the tables of settings: `python -m tests.docs.settings_page docs/reference/settings*.md`.

The text around the tables stays unchanged.
"""

import re
import sys
from pathlib import Path

from service.cli.help import SettingHelp, grouped_settings

HEAD = "| setting | environment | default | meaning |\n|---|---|---|---|\n"
ROWS = re.compile(r"\| setting \|[^\n]*\n\|[-|]+\n(?:\|[^\n]*\n)*")


class PageError(ValueError):
    """A heading on the page has no table below it."""


def update_tables(page: str) -> str:
    """Return the page with each group's settings in the first table below the group's heading, if it has one.

    Raises:
        PageError: names the heading that has no table below it.
    """
    for group, settings in grouped_settings().items():
        before, heading, after = page.partition(f"\n## {group}\n")
        if not heading:
            continue
        section, next_heading, rest = after.partition("\n## ")
        table = HEAD + "".join(map(_row, settings))
        replaced, count = ROWS.subn(lambda _: table, section, count=1)  # noqa: B023 -- called at once
        if not count:
            names = ", ".join(setting.name for setting in settings)
            raise PageError(f"the heading `## {group}` needs a table below it, for {names}")
        page = before + heading + replaced + next_heading + rest
    return page


def _row(setting: SettingHelp) -> str:
    default = setting.default if setting.default in {"none", "empty"} else f"`{setting.default}`"
    meaning = setting.meaning.replace("|", "\\|")
    return f"| `{setting.name}` | `{setting.variable}` | {default} | {meaning} |\n"


def main(arguments: list[str]) -> None:
    """Update the tables of the given pages."""
    for page in map(Path, arguments):
        page.write_text(update_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
