"""`/docs` shows the API and sends requests to it, without anything from another host."""

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.commands.browser.conftest import Open, ServeDouble
from tests.service.keys import Keys


def test_every_operation_is_listed_and_one_can_be_tried(open_page: Open, double: str) -> None:
    page = open_page(f"{double}docs")
    document = page.request.get(f"{double}openapi.json").json()
    operations = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    page.wait_for_selector(".operation")

    shown = page.locator(".operation").evaluate_all("nodes => nodes.map((node) => node.id)")
    assert sorted(shown) == sorted(operations)
    page.click("#translate summary")
    expect(page.locator("#translate")).to_contain_text("num_hypotheses")
    page.fill("#translate textarea", json.dumps({"text": "hallo"}))
    page.click("#translate .try button")
    expect(page.locator("#translate pre")).to_contain_text('"text": "HALLO"')


def test_a_required_key_is_requested(open_page: Open, serve_double: ServeDouble, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'accounts.db'}"
    key = Keys(url).make()
    page = open_page(f"{serve_double(database_url=url, requires_key=True)}docs")

    page.fill("#key", key)
    page.keyboard.press("Enter")

    page.wait_for_selector("#translate")
    expect(page.locator("#notice-box")).to_be_hidden()
