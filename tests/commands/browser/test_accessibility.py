"""The page can be used without a pointer and with a screen reader: the rules of axe-core find nothing."""

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.commands.browser.conftest import HISTORY_PAUSE_MS, PAUSE_MS, WORD_WITH_OTHERS, Open, type_text

AXE = (Path(__file__).parent / "axe.min.js").read_text(encoding="utf8")
"""axe-core 4.14.1 by Deque Systems, Mozilla Public License 2.0; a dependency of tests only."""
TEXT = "Guten Morgen! Die Katze schläft morgen wohl nicht im Garten. Xylophonverleihgebühr Quarkplotz."
MAX_TABS = 20
RULES: dict[Literal["light", "dark"], dict[str, object] | None] = {
    "light": None,
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""Rules for each of the two colour schemes; all for the first. The other differs in nothing but colours, so
it has the rules about colours.
"""
RUN = """async (rules) => {
    const options = {resultTypes: ["violations"], ...(rules && {runOnly: rules})};
    return (await axe.run(options)).violations;
}"""


def violations(page: Page) -> list[tuple[str, str, list[str]]]:
    """Return the broken rules and where they are broken, in both colour schemes."""
    if page.evaluate("!('axe' in window)"):
        page.evaluate(AXE)
    found: list[tuple[str, str, list[str]]] = []
    for scheme, rules in RULES.items():
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("html")).to_have_attribute("data-theme", scheme)
        results: list[dict[str, Any]] = page.evaluate(RUN, rules)
        found += [(scheme, each["id"], [node["html"] for node in each["nodes"]]) for each in results]
    return found


def show_translation(page: Page) -> None:
    type_text(page, TEXT)
    page.wait_for_selector("#copy:enabled")
    page.check("#shading")


def tab_to(page: Page, selector: str) -> None:
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_state_of_the_page_breaks_a_rule(open_page: Open, bundled: str, width: int) -> None:
    page = open_page(bundled, width=width)
    page.wait_for_selector("#target-language option", state="attached")
    assert violations(page) == []

    show_translation(page)
    page.clock.fast_forward(HISTORY_PAUSE_MS)
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
    type_text(page, "Hallo")
    page.wait_for_selector("#notice-action")
    assert violations(page) == []


def test_the_documentation_breaks_no_rule(open_page: Open, bundled: str) -> None:
    page = open_page(f"{bundled}docs")
    page.click("#translate summary")
    page.click("#create_job summary")

    assert violations(page) == []


def test_all_is_done_by_keyboard(page: Page) -> None:
    page.wait_for_selector("#target-language option", state="attached")
    expect(page.locator("#source")).to_be_focused()
    page.keyboard.insert_text("Hallo! Die Katze schläft morgen wohl nicht im Garten.")
    page.clock.fast_forward(PAUSE_MS)
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
    expect(page.locator("#toast")).to_have_text("The translation is copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("#output")
    tab_to(page, "#file")


def test_escape_closes_the_other_words_and_returns_to_the_word(page: Page) -> None:
    show_translation(page)
    page.focus("#output")
    page.keyboard.press("End")
    last = page.inner_text("#output .current")
    page.keyboard.press("Enter")
    page.wait_for_selector("#alternatives")

    page.keyboard.press("Escape")

    expect(page.locator("#alternatives")).to_be_hidden()
    expect(page.locator("#output")).to_be_focused()
    expect(page.locator("#output .current")).to_have_text(last)
