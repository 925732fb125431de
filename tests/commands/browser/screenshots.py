"""Take screenshots of the web page: `python -m tests.commands.browser.screenshots docs/guides/figures`."""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.commands.browser.conftest import CHROMIUM, FLAGS, NO_CHROMIUM, WORD_WITH_OTHERS
from tests.commands.browser.servers import COMMAND, Server
from tests.paths import ROOT

TEXT = """Guten Morgen! Wie geht es Ihnen?

Die Katze schläft heute nicht im Garten. Wir trinken jeden Morgen Kaffee."""
NUM_COLORS = 128


def take(browser: Browser, address: str, path: Path, size: tuple[int, int], *, dark: bool = False) -> None:
    """Take a screenshot of a translated text with the alternatives of a word."""
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    page.goto(address)
    page.wait_for_selector("#target-language option", state="attached")
    page.fill("#source", TEXT)
    page.wait_for_selector("#copy:enabled")
    page.check("#shading")
    page.wait_for_selector("#history")
    page.click(WORD_WITH_OTHERS)
    page.wait_for_selector("#alternatives button")
    image = Image.open(io.BytesIO(page.screenshot()))
    image.convert("RGB").quantize(NUM_COLORS).save(path, optimize=True)
    page.close()


def main(folder: Path) -> None:
    if CHROMIUM is None:
        sys.exit(NO_CHROMIUM)
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as logs, sync_playwright() as playwright:
        server = Server(COMMAND, Path(logs), models_dir=ROOT / "models")
        server.start()
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            take(browser, server.address, folder / "web-page-desktop.png", (1280, 640))
            take(browser, server.address, folder / "web-page-phone.png", (390, 844))
            take(browser, server.address, folder / "web-page-dark.png", (1280, 640), dark=True)
        finally:
            server.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
