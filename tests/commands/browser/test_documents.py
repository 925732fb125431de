"""Documents are translated in the page by jobs, where the server has jobs."""

from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.commands.browser.conftest import Open, ServeDouble

DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    for (const type of ["dragover", "drop"]) {
        const options = {dataTransfer: data, bubbles: true, cancelable: true};
        document.body.dispatchEvent(new DragEvent(type, options));
    }
}"""


def open_documents(open_page: Open, address: str) -> Page:
    page = open_page(address)
    page.wait_for_selector("#target-language option", state="attached")
    return page


@pytest.fixture
def documents(open_page: Open, double: str) -> Page:
    return open_documents(open_page, double)


def add(page: Page, name: str, text: str) -> None:
    page.set_input_files("#file", [FilePayload(name=name, mimeType="text/plain", buffer=text.encode())])


def test_a_chosen_document_is_translated_and_downloaded(documents: Page, tmp_path: Path) -> None:
    add(documents, "brief.txt", "guten tag\n\nbis bald\n")

    expect(documents.locator("#files .state")).to_have_text("Done.")
    with documents.expect_download() as download:
        documents.click("#files .primary")
    download.value.save_as(tmp_path / "saved")
    assert download.value.suggested_filename == "brief.en.txt"
    assert (tmp_path / "saved").read_text(encoding="utf8") == "GUTEN TAG\n\nBIS BALD\n"


def test_a_dropped_document_is_translated(documents: Page) -> None:
    documents.evaluate(DROP, ["brief.txt", "guten tag\n"])

    expect(documents.locator("#files .name")).to_have_text("brief.txt")
    expect(documents.locator("#files .state")).to_have_text("Done.")


def test_a_document_in_the_target_language_is_translated_into_another(
    open_page: Open, bundled: str, tmp_path: Path
) -> None:
    page = open_documents(open_page, bundled)
    page.select_option("#target-language", "en")

    add(page, "letter.txt", "The cat is sleeping in the garden and nobody wakes it.\n")

    expect(page.locator("#files .state")).to_have_text("Done: English → German.")
    with page.expect_download() as download:
        page.click("#files .primary")
    download.value.save_as(tmp_path / "saved")
    assert download.value.suggested_filename == "letter.de.txt"
    assert "Katze" in (tmp_path / "saved").read_text(encoding="utf8")


def test_a_document_can_be_downloaded_after_a_reload_until_it_is_removed(documents: Page) -> None:
    add(documents, "brief.txt", "guten tag\n")
    expect(documents.locator("#files .state")).to_have_text("Done.")

    documents.reload()

    expect(documents.locator("#files .name")).to_have_text("brief.txt")
    with documents.expect_download() as download:
        documents.click("#files .primary")
    assert download.value.suggested_filename == "brief.en.txt"
    documents.click("#files .quiet")
    documents.reload()
    documents.wait_for_selector("#target-language option", state="attached")
    expect(documents.locator("#files")).to_be_empty()


def test_a_document_under_way_is_followed_after_a_reload(documents: Page) -> None:
    add(documents, "brief.txt", "wait\n")
    expect(documents.locator("#files .state")).to_have_text("0 %")

    documents.reload()

    expect(documents.locator("#files .state")).to_have_text("0 %")
    documents.click("#files .actions button")
    expect(documents.locator("#files .state")).to_have_text("Cancelled.")


def test_an_unsupported_document_is_named_at_once(documents: Page) -> None:
    add(documents, "brief.exe", "guten tag")

    expect(documents.locator("#files .state")).to_have_text("This format is not supported.")


def test_a_document_over_the_limit_is_not_uploaded(open_page: Open, serve_double: ServeDouble) -> None:
    page = open_documents(open_page, serve_double(max_job_bytes=2**20))

    add(page, "brief.txt", "x" * (2**20 + 1))

    expect(page.locator("#files .state")).to_have_text("The file is too large: the limit is 1 MiB.")


def test_a_cancelled_document_is_cancelled_on_the_server(documents: Page) -> None:
    add(documents, "brief.txt", "wait\n")
    expect(documents.locator("#files .state")).to_have_text("0 %")

    with documents.expect_response(lambda response: response.request.method == "DELETE") as deleted:
        documents.click("#files .actions button")

    assert deleted.value.status == 202
    expect(documents.locator("#files .state")).to_have_text("Cancelled.")


def test_without_jobs_there_are_no_documents(open_page: Open, serve_double: ServeDouble) -> None:
    page = open_documents(open_page, serve_double(jobs="off"))

    expect(page.locator("#documents")).to_be_hidden()
