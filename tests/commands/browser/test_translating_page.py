"""Texts are translated in the page as they are typed."""

import re
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.commands.browser.conftest import (
    HISTORY_PAUSE_MS,
    WORD_WITH_OTHERS,
    Open,
    ServeDouble,
    Watched,
    type_text,
)

TEXT = "Guten Morgen! Die Katze schläft im Garten."
STREAM = "/v1/translate/stream"
RECORD = """() => {
    const output = document.getElementById("output");
    window.recorded = [];
    new MutationObserver(() => window.recorded.push([output.textContent, output.getAttribute("aria-busy")]))
        .observe(output, {childList: true, attributes: true});
}"""

TYPE = """(field, text) => {
    for (const character of text) {
        field.value += character;
        field.dispatchEvent(new InputEvent("input"));
    }
}"""


def translate(page: Page, text: str) -> str:
    """Type a text and return its translation."""
    type_text(page, text)
    page.wait_for_selector("#copy:enabled")
    return page.inner_text("#output")


def marked(page: Page) -> list[str]:
    return page.locator("#mirror mark").all_inner_texts()


def test_a_typed_text_is_translated_and_its_language_detected(page: Page) -> None:
    assert translate(page, TEXT) == "Good morning! The cat is sleeping in the garden."
    expect(page.locator("#source-language option:checked")).to_have_text("German (detected)")


def test_segments_are_shown_before_the_translation_is_complete(page: Page) -> None:
    page.evaluate(RECORD)

    whole = translate(page, "\n".join(f"Der Zug nach Wien fährt um {number} Uhr ab." for number in range(60)))

    partial = [text for text, is_busy in page.evaluate("window.recorded") if text and is_busy == "true"]
    assert any(0 < len(text) < len(whole) / 2 for text in partial)


def test_typing_on_cancels_the_request_of_the_earlier_text(double_page: Page) -> None:
    failed: list[str] = []
    double_page.on("requestfailed", lambda request: failed.append(request.post_data or ""))
    with double_page.expect_request(f"**{STREAM}"):
        type_text(double_page, "wait")

    type_text(double_page, "hallo")

    expect(double_page.locator("#output")).to_have_text("HALLO")
    assert [bool(re.search('"wait"', body)) for body in failed] == [True]


def test_a_pause_in_typing_makes_one_request(double_page: Page, watched: Watched) -> None:
    double_page.wait_for_selector("#target-language option", state="attached")
    double_page.locator("#source").evaluate(TYPE, "guten tag")

    expect(double_page.locator("#output")).to_have_text("GUTEN TAG")
    assert [urlsplit(url).path for url in watched.urls].count(STREAM) == 1


def test_a_slow_server_is_shown_as_busy_until_it_answers(double_page: Page) -> None:
    with double_page.expect_request(f"**{STREAM}"):
        type_text(double_page, "slow")

    expect(double_page.locator("#busy")).to_be_visible()
    expect(double_page.locator("#output")).to_have_attribute("aria-busy", "true")
    expect(double_page.locator("#output")).to_have_text("SLOW")
    expect(double_page.locator("#busy")).to_be_hidden()


def test_the_word_under_the_pointer_marks_its_source_and_the_cursor_its_translation(page: Page) -> None:
    translate(page, "😀 Die Katze schläft im Garten.")

    page.hover('.word:text-is("cat")')
    assert marked(page) == ["Katze"]
    page.hover("h1")
    assert marked(page) == []

    page.focus("#source")
    page.keyboard.press("Control+Home")
    for _ in range(len("😀 Die Ka")):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#output .word.aligned")).to_have_text("cat")


def test_a_click_on_a_word_offers_others_that_continue_the_sentence(page: Page) -> None:
    translate(page, "Hallo! Die Katze schläft morgen wohl nicht im Garten.")

    page.click(WORD_WITH_OTHERS)
    page.wait_for_selector("#alternatives button")
    words = page.locator("#alternatives button:not(.sentence)").all_inner_texts()
    page.click("#alternatives button:not(.sentence) >> nth=-1")

    assert len(words) == len(set(words)) > 1
    expect(page.locator("#output")).to_contain_text(
        re.compile(rf"^Hello! The cat {re.escape(words[-1])}.*\.$")
    )


def test_no_other_word_is_improbable_or_differs_in_its_case_alone(page: Page) -> None:
    translate(page, "Der Hund wurde gestern getötet.")

    page.click('.word:text-is("yesterday")')
    expect(page.locator("#alternatives button, #alternatives p")).not_to_have_text("Looking for other words…")

    # Below 2 % are "last", "Yesterday", "by", "killed", "of".
    expect(page.locator("#alternatives .item:not(.sentence)")).to_have_count(0)


def test_whole_sentences_are_offered_in_place_of_one(page: Page) -> None:
    translate(page, "Hallo! Wie geht es dir? Tom hat gestern Abend lange gearbeitet. Bis bald!")

    page.click('.word:text-is("Tom")')
    page.wait_for_selector("#alternatives .sentence")
    sentences = page.locator("#alternatives .sentence").all_inner_texts()
    page.click("#alternatives .sentence >> nth=0")

    expect(page.locator("#output .segment >> nth=2")).to_have_text(sentences[0])
    assert len({sentence.lower() for sentence in sentences}) == len(sentences)
    assert page.locator("#output .segment").count() == 4


def test_confidence_is_shown_on_request(page: Page) -> None:
    translate(page, "Guten Morgen! Xylophonverleihgebühr Quarkplotz.")
    unsure = page.locator("#output .low, #output .middle").first

    assert unsure.evaluate("node => getComputedStyle(node).borderBottomWidth") == "0px"
    page.check("#shading")

    assert unsure.evaluate("node => getComputedStyle(node).borderBottomWidth") == "2px"
    title = unsure.get_attribute("title")
    assert title is not None
    assert re.fullmatch(r"Confidence \d+ %", title)


def test_the_confidence_of_a_sentence_is_the_servers(page: Page, bundled: str) -> None:
    text = "Die Xylophonverleihgebühr ist hoch."
    translate(page, text)
    (said,) = httpx.post(f"{bundled}v1/translate", json={"text": text, "target": "en"}).json()["translations"]

    assert (
        page.locator("#output [title]").get_attribute("title")
        == f"Confidence {said['confidence'] * 100:.0f} %"
    )


def test_swapping_translates_the_translation_back(page: Page) -> None:
    english = translate(page, "Die Katze schläft.")

    page.click("#swap")

    expect(page.locator("#source")).to_have_value(english)
    expect(page.locator("#target-language")).to_have_value("de")
    expect(page.locator("#output")).to_contain_text("Die Katze")


def test_a_text_in_another_language_is_reported_and_translated_from_it(page: Page) -> None:
    page.wait_for_selector("#target-language option", state="attached")
    page.select_option("#source-language", "de")

    translate(page, "The cat is sleeping in the garden and nobody wakes it.")
    expect(page.locator("#notice")).to_have_text("The text seems to be English, not German.")
    expect(page.locator("#output .segment")).to_have_attribute("title", "Confidence 0 %")
    page.click("#notice-action")

    expect(page.locator("#source-language")).to_have_value("en")
    expect(page.locator("#target-language")).to_have_value("de")
    expect(page.locator("#output")).to_contain_text("Die Katze")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_text_in_an_unserved_language_is_reported_without_a_button(page: Page) -> None:
    page.wait_for_selector("#target-language option", state="attached")
    page.select_option("#source-language", "de")

    translate(page, "Il gatto dorme in giardino, non so dove ho lasciato le chiavi.")

    expect(page.locator("#notice")).to_have_text("The text seems to be Italian, not German.")
    expect(page.locator("#notice-action")).to_be_hidden()


def test_the_target_is_switched_for_a_text_that_is_in_it(page: Page) -> None:
    page.select_option("#target-language", "en")

    type_text(page, "The cat is sleeping in the garden.")

    expect(page.locator("#target-language")).to_have_value("de")


def test_a_shared_address_has_its_text_in_the_fragment_only(
    page: Page, open_page: Open, watched: Watched
) -> None:
    page.select_option("#source-language", "de")
    english = translate(page, TEXT)
    page.click("#share")
    expect(page.locator("#toast")).to_be_visible()
    address = page.evaluate("navigator.clipboard.readText()")

    other = open_page(address)

    expect(other.locator("#source")).to_have_value(TEXT)
    expect(other.locator("#output")).to_have_text(english)
    assert not any("Katze" in urlsplit(url).path + urlsplit(url).query for url in watched.urls)


@pytest.mark.parametrize(
    "address", ["?source=de&target=en&q=und%2Foder", "#de/en-GB/und%2Foder", "#de/EN/und\\/oder"]
)
def test_a_link_made_for_another_service_brings_its_text_and_languages(
    open_page: Open, bundled: str, address: str
) -> None:
    page = open_page(bundled + address)

    expect(page.locator("#source")).to_have_value("und/oder")
    expect(page.locator("#source-language")).to_have_value("de")
    expect(page.locator("#target-language")).to_have_value("en")
    expect(page.locator("#output")).to_contain_text("and")


def test_a_reload_keeps_the_text_as_it_was_changed_last(open_page: Open, double: str) -> None:
    page = open_page(f"{double}?q=hallo")
    expect(page.locator("#output")).to_have_text("HALLO")
    type_text(page, "hallo du")
    expect(page.locator("#output")).to_have_text("HALLO DU")

    page.reload()

    expect(page.locator("#output")).to_have_text("HALLO DU")
    page.click("#clear")
    page.reload()
    expect(page.locator("#source")).to_have_value("")


def test_the_count_is_shown_near_the_limit_only(open_page: Open, serve_double: ServeDouble) -> None:
    page = open_page(serve_double(max_characters=100))

    type_text(page, "x" * 79)
    expect(page.locator("#count")).to_be_empty()
    type_text(page, "x" * 80)
    expect(page.locator("#count")).to_have_text("80 / 100")


def test_the_direction_of_the_field_is_that_of_its_text(page: Page) -> None:
    direction = "() => getComputedStyle(document.getElementById('source')).direction"
    translate(page, "Die Katze schläft.")
    assert page.evaluate(direction) == "ltr"

    page.fill("#source", "القطة نائمة")

    assert page.evaluate(direction) == "rtl"


def test_on_a_phone_the_translation_of_a_long_text_begins_above_the_keyboard(
    open_page: Open, bundled: str
) -> None:
    page = open_page(bundled, width=390, height=844)
    translate(page, "\n".join(["Die Katze schläft im Garten."] * 30))

    output = page.locator("#output").bounding_box()

    assert output is not None
    assert output["y"] < 844 / 2
    assert page.locator(".field").evaluate("node => node.scrollHeight > node.clientHeight")


def test_the_history_stays_in_the_browser_until_it_is_cleared(page: Page) -> None:
    english = translate(page, TEXT)
    page.clock.fast_forward(HISTORY_PAUSE_MS)
    page.wait_for_selector("#history")
    page.reload()
    page.click("#history summary")

    page.click("#history-entries button")

    expect(page.locator("#source")).to_have_value(TEXT)
    expect(page.locator("#output")).to_have_text(english)
    page.click("#clear-history")
    expect(page.locator("#history")).to_be_hidden()
    assert page.evaluate("Object.keys(localStorage)").count("dragoman.history") == 0


def test_the_translation_has_the_direction_of_its_language(
    open_page: Open, serve_double: ServeDouble
) -> None:
    page = open_page(serve_double(["ar", "fr"]))
    type_text(page, "hallo")

    for target, direction in (("ar", "rtl"), ("fr", "ltr")):
        page.select_option("#target-language", target)
        expect(page.locator("#output")).to_have_text("HALLO")
        expect(page.locator("#output")).to_have_attribute("dir", direction)
        expect(page.locator("#output")).to_have_attribute("lang", target)


def test_the_page_works_under_a_path_prefix(open_page: Open, bundled: str, watched: Watched) -> None:
    page = open_page(f"{bundled}healthz")
    page.context.route(
        "**/some/where/**", lambda route: route.continue_(url=route.request.url.replace("some/where/", ""))
    )

    page.goto(f"{bundled}some/where/")

    assert translate(page, TEXT).startswith("Good morning!")
    paths = {urlsplit(url).path for url in watched.urls} - {"/healthz"}
    assert all(path.startswith("/some/where/") for path in paths)
    page.click("nav a")
    page.wait_for_selector("#translate")


def test_narrow_screens_need_no_horizontal_scrolling(open_page: Open, bundled: str) -> None:
    page = open_page(bundled, width=768)
    translate(page, TEXT + " Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 2)

    too_wide = []
    for width in (768, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            too_wide.append(width)

    assert too_wide == []


def test_a_chosen_theme_is_kept(page: Page) -> None:
    page.click("#theme")
    page.reload()

    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_the_form_of_address_can_be_chosen_where_the_model_knows_it(page: Page) -> None:
    page.select_option("#target-language", "de")
    assert translate(page, "Where do you live?") == "Wo wohnst du?"

    page.select_option("#formality", "prefer_formal")

    expect(page.locator("#output")).to_contain_text(" Sie?")
    page.reload()
    assert translate(page, "Where do you live?").endswith(" Sie?")
    page.select_option("#source-language", "de")
    expect(page.locator("#formality-choice")).to_be_hidden()


def test_a_glossary_can_be_chosen_where_there_is_one(page: Page, bundled: str) -> None:
    expect(page.locator("#glossary-choice")).to_be_hidden()
    entries = [{"source": "dog", "target": "Luftkissenboot"}]
    new = {"name": "Tiere", "dictionaries": [{"source": "en", "target": "de", "entries": entries}]}
    made = httpx.post(f"{bundled}v1/glossaries", json=new).json()
    page.reload()
    page.select_option("#target-language", "de")
    assert "Luftkissenboot" not in translate(page, "The dog is asleep.")

    page.select_option("#glossary", label="Tiere")

    expect(page.locator("#output")).to_contain_text("Luftkissenboot")
    page.select_option("#source-language", "de")
    expect(page.locator("#glossary-choice")).to_be_hidden()
    httpx.delete(f"{bundled}v1/glossaries/{made['id']}")
