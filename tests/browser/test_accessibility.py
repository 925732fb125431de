"""The page can be used without a pointer and with a screen reader: the rules of axe-core find nothing."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WORD_WITH_OTHERS, Open
from tests.browser.servers import Server

AXE = (Path(__file__).parent / "axe.min.js").read_text(encoding="utf8")
"""axe-core 4.14.1 by Deque Systems, Mozilla Public License 2.0; a dependency of tests only."""
TEXT = "Guten Morgen! Die Katze schläft morgen wohl nicht im Garten. Xylophonverleihgebühr Quarkplotz."
MAX_TABS = 20


def violations(page: Page) -> list[tuple[str, list[str]]]:
    page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((results) => results.violations)")
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]


def translated(open_page: Open, address: str, *, dark: bool = False, width: int = 1280) -> Page:
    page = open_page(address, dark=dark, width=width)
    page.wait_for_selector("#target-language option", state="attached")
    page.fill("#source", TEXT)
    page.wait_for_selector("#copy:enabled")
    page.check("#shading")
    return page


def tab_to(page: Page, selector: str) -> None:
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_state_of_the_page_breaks_a_rule(
    open_page: Open, bundled: Server, width: int, *, dark: bool
) -> None:
    page = open_page(bundled.address, dark=dark, width=width)
    page.wait_for_selector("#target-language option", state="attached")
    assert violations(page) == []

    page = translated(open_page, bundled.address, dark=dark, width=width)
    page.wait_for_selector("#history")
    page.click("#history summary")
    assert violations(page) == []
    page.click(WORD_WITH_OTHERS)
    page.wait_for_selector("#alternatives button")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.click("#key-button")
    assert violations(page) == []
    page.click("#cancel-key")
    page.context.set_offline(True)
    page.fill("#source", "Hallo")
    page.wait_for_selector("#retry")
    assert violations(page) == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_documentation_breaks_no_rule(open_page: Open, bundled: Server, *, dark: bool) -> None:
    page = open_page(f"{bundled.address}docs", dark=dark)
    page.click("#translate summary")
    page.click("#create_job summary")

    assert violations(page) == []


def test_all_is_done_by_keyboard(open_page: Open, bundled: Server) -> None:
    page = open_page(bundled.address)
    page.wait_for_selector("#target-language option", state="attached")
    expect(page.locator("#source")).to_be_focused()
    page.keyboard.insert_text("Hallo! Die Katze schläft morgen wohl nicht im Garten.")
    page.wait_for_selector("#copy:enabled")
    before = page.inner_text("#output")

    tab_to(page, "#output")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#output .current")).to_have_text(before.split()[3])
    expect(page.locator("#status")).to_contain_text("Press Enter for other words")
    page.keyboard.press("Enter")
    expect(page.locator("#alternatives button >> nth=0")).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#alternatives button >> nth=1")
    expect(chosen).to_be_focused()
    word = chosen.inner_text()
    page.keyboard.press("Enter")

    expect(page.locator("#output .current")).to_have_text(word)
    expect(page.locator("#output")).to_be_focused()
    tab_to(page, "#copy")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_be_visible()
    assert word in page.evaluate("navigator.clipboard.readText()")
    tab_to(page, "#file")


def test_escape_closes_the_other_words_and_returns_to_the_word(open_page: Open, bundled: Server) -> None:
    page = translated(open_page, bundled.address)
    page.focus("#output")
    page.keyboard.press("End")
    last = page.inner_text("#output .current")
    page.keyboard.press("Enter")
    page.wait_for_selector("#alternatives")

    page.keyboard.press("Escape")

    expect(page.locator("#alternatives")).to_be_hidden()
    expect(page.locator("#output")).to_be_focused()
    expect(page.locator("#output .current")).to_have_text(last)
