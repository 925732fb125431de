"""The page's texts are all in German, too."""

import re
from html.parser import HTMLParser
from pathlib import Path

from service.http.errors import ErrorKind

SOURCES = Path(__file__).parents[2] / "web" / "src"
STRINGS = (SOURCES / "strings.ts").read_text(encoding="utf8")
GERMAN = set(re.findall(r'^  "([^"]+)":', STRINGS, re.MULTILINE))
ATTRIBUTES = {"aria-label", "title", "placeholder", "data-placeholder"}
SAME = {"Dragoman", "API"}


class PageTexts(HTMLParser):
    """Collects what the page itself shows, outside `head` and `noscript`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._is_shown = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_shown = tag != "noscript" and (self._is_shown or tag == "body")
        self.found |= {value for name, value in attrs if name in ATTRIBUTES and value}

    def handle_data(self, data: str) -> None:
        if self._is_shown and data.strip():
            self.found.add(data.strip())


def test_each_text_of_the_page_has_a_german_one() -> None:
    page = PageTexts()
    page.feed((SOURCES / "index.html").read_text(encoding="utf8"))

    assert page.found - GERMAN - SAME == set()


def test_each_text_of_the_scripts_has_a_german_one() -> None:
    calls = (
        call
        for path in SOURCES.glob("*.ts")
        for call in re.findall(r"\btranslated\(([^;]*)", path.read_text(encoding="utf8"))
    )
    used = {text for call in calls for text in re.findall(r'"([A-Z{][^"]*[^"{])"', call)}

    assert len(used) > 20
    assert used - GERMAN == set()


def test_no_script_shows_a_text_in_english_alone() -> None:
    of_the_api_page = {"docs.ts", "try.ts", "openapi.ts", "schemas.ts"}
    scripts = [
        path.read_text(encoding="utf8")
        for path in SOURCES.glob("*.ts")
        if path.name not in {"strings.ts", *of_the_api_page}
    ]
    shown = {text for script in scripts for text in re.findall(r'"([A-Z][^"]* [^"]*[.…])"', script)}

    assert shown - GERMAN == set()
    for script in scripts:
        assert re.findall(r'(?:element|this\.open)\([^()]*, "([^"]+)"\)', script) == []


def test_each_kind_of_error_that_a_user_may_meet_has_a_german_sentence() -> None:
    internal = {"malformed_request", "method_not_allowed", "client_timeout", "conflict"}
    internal |= {"unsupported_media_type", "range_not_satisfiable", "internal"}

    assert [kind for kind in ErrorKind if kind not in internal and f"\n  {kind}: " not in STRINGS] == []
