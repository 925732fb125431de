"""The page says plainly what is wrong, and goes on by itself as soon as it can."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.commands.browser.conftest import Open, ServeDouble, type_text
from tests.commands.browser.servers import Server
from tests.service.keys import Keys

STREAM = "**/v1/translate/stream"
NOT_SERVED = "text: seems to be French, which is not served; `dragoman import fr-en` lists models to add"
MAX_RETRY_MS = 30_000
"""Time after which the page has tried again, whatever failed."""
AWAY = re.compile(r"The server cannot be reached\. Trying again in \d+ s\.")


def test_a_server_that_dies_while_it_translates_is_reported_and_tried_again(
    open_page: Open, server_process: Server
) -> None:
    page = open_page(server_process.address)
    with page.expect_request(STREAM):
        type_text(page, "wait")

    server_process.kill()

    expect(page.locator("#notice")).to_have_text(AWAY)
    type_text(page, "hallo")
    expect(page.locator("#notice")).to_have_text(AWAY)
    server_process.start()
    page.clock.fast_forward(MAX_RETRY_MS)
    expect(page.locator("#output")).to_have_text("HALLO")
    expect(page.locator("#notice-box")).to_be_hidden()


def test_a_page_loaded_before_the_server_is_ready_starts_when_it_is(open_page: Open, double: str) -> None:
    page = open_page("about:blank")
    page.route("**/v1/languages", lambda route: route.abort())
    page.goto(double)
    expect(page.locator("#notice")).to_have_text("The server cannot be reached. Trying again.")
    page.unroute("**/v1/languages")
    page.fill("#source", "hallo")

    page.clock.fast_forward(MAX_RETRY_MS)

    expect(page.locator("#output")).to_have_text("HALLO")


def test_an_exceeded_rate_limit_is_reported_with_the_time_to_wait(
    open_page: Open, serve_double: ServeDouble
) -> None:
    # To list the glossaries is a request, too.
    page = open_page(serve_double(rate_limit="2/hour"))
    type_text(page, "hallo")
    expect(page.locator("#output")).to_have_text("HALLO")

    type_text(page, "hallo du")

    expect(page.locator("#notice")).to_have_text(re.compile(r"2.*hour.*Trying again in \d+ s\."))
    expect(page.locator("#notice-action")).to_be_visible()


def test_a_page_that_may_not_list_the_glossaries_for_the_rate_still_begins(
    open_page: Open, serve_double: ServeDouble
) -> None:
    page = open_page(serve_double(rate_limit="1/hour"))  # the list is the one request
    expect(page.locator("#target-language option").first).to_be_attached()
    page.reload()

    expect(page.locator("#target-language option").first).to_be_attached()
    expect(page.locator("#notice")).to_have_text("")


def test_a_required_key_is_requested_until_it_is_right(
    open_page: Open, serve_double: ServeDouble, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'accounts.db'}"
    key = Keys(url).make()
    page = open_page(serve_double(database_url=url, requires_key=True))
    expect(page.locator("#key-dialog")).to_be_visible()

    page.fill("#key", "drg_wrong")
    with page.expect_response("**/v1/languages") as answered:
        page.click("#key-form .primary")
    assert answered.value.status == 401
    expect(page.locator("#key-dialog")).to_be_visible()
    expect(page.locator("#key-message")).to_contain_text("key")

    page.fill("#key", key)
    page.keyboard.press("Enter")
    type_text(page, "hallo")
    expect(page.locator("#output")).to_have_text("HALLO")
    expect(page.locator("#key-dialog")).to_be_hidden()
    assert page.evaluate("[sessionStorage['dragoman.key'], localStorage['dragoman.key']]") == [key, None]
    page.reload()
    type_text(page, "danke")
    expect(page.locator("#output")).to_have_text("DANKE")


def test_a_text_that_cannot_be_translated_is_reported_with_the_servers_reason(double_page: Page) -> None:
    type_text(double_page, "unusable")

    expect(double_page.locator("#notice")).to_contain_text("is not usable")
    expect(double_page.locator("#notice")).not_to_contain_text("Trying again")


def test_after_an_error_no_translation_of_an_earlier_text_is_shown(page: Page) -> None:
    type_text(page, "Die Katze schläft im Garten.")
    expect(page.locator("#source-language option:checked")).to_have_text("German (detected)")

    type_text(page, "Le chat dort dans le jardin et personne ne le réveille.")

    expect(page.locator("#notice")).to_have_text(
        "The text seems to be French, which this server does not translate. "
        "Its operator finds models with: dragoman import fr-en"
    )
    expect(page.locator("#output")).to_have_text("")
    expect(page.locator("#source-language option:checked")).to_have_text("Detect language")


def test_errors_are_german_in_a_german_browser_with_the_servers_words_as_title(
    open_page: Open, double: str
) -> None:
    page = open_page(double, locale="de-DE")
    error = {"type": "invalid_input", "message": NOT_SERVED}
    page.route(STREAM, lambda route: route.fulfill(status=422, body=json.dumps({"error": error})))

    type_text(page, "La chatte dort.")
    expect(page.locator("#notice")).to_have_text(
        "Der Text scheint auf Französisch zu sein; das übersetzt dieser Server nicht. "
        "Wer ihn betreibt, findet Modelle mit: dragoman import fr-en"
    )
    expect(page.locator("#notice-action")).to_be_hidden()

    error["message"] = "text: is not usable"
    type_text(page, "unbrauchbar")
    expect(page.locator("#notice")).to_have_text("Das kann der Server nicht übersetzen.")
    expect(page.locator("#notice")).to_have_attribute("title", "text: is not usable")


def test_an_error_within_the_stream_is_reported(double_page: Page) -> None:
    error = 'event: error\ndata: {"error":{"type":"timeout","message":"it took too long","fields":[]}}\n\n'
    double_page.route(STREAM, lambda route: route.fulfill(content_type="text/event-stream", body=error))

    type_text(double_page, "hallo")

    expect(double_page.locator("#notice")).to_have_text("It took too long.")
    expect(double_page.locator("#notice-action")).to_be_visible()
