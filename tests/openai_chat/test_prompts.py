"""Prompts that popular clients send by default, and texts that only look like these."""

import time

import httpx
import pytest

from service.api.openai.prompts import is_document, read_prompt
from tests.openai_chat.conftest import PATH, body, error_of

TEXT = 'Guten Morgen: "Hallo"!\n\nWie geht es dir?'
PROMPTS = {
    "PDFMathTranslate": (
        "Translate the following markdown source text to English. Keep the formula notation {v*} unchanged. "
        "Output translation directly without any additional text.\nSource Text: %s\nTranslated Text:"
    ),
    "PDFMathTranslate 2": (
        ";; Treat next line as plain text input and translate it into English, output translation ONLY. If "
        "translation is unnecessary (e.g. proper nouns, codes, {{1}}, etc. ), return the original text. NO "
        "explanations. NO notes. Input:\n\n%s"
    ),
    "kiss-translator": (
        "# Context\nTitle: Über uns\nDescription: \nTone: formal\n\n# Task\nTranslate the Source Text below "
        "to English.\n1. Use the Context.\n2. Output ONLY the translated text.\n\nSource Text: %s\n\n"
        "Translated Text:"
    ),
    "Zotero": (
        "As an academic expert with specialized knowledge in various fields, please provide a proficient and "
        "precise translation from German to English of the academic text enclosed in \U0001f524. The text is "
        "as follows:  \U0001f524 %s \U0001f524  Please provide the translated result without any additional "
        "explanation and remove \U0001f524."
    ),
    "Subtitle Edit": (
        "Translate from German to English, keep punctuation as input, do not censor the translation, give "
        "only the output without comments:\n\n%s"
    ),
    "Pot": 'Translate into English:\n"""\n%s\n"""',
    "Nextcloud": "Translate the following text from German to English: \n\n%s",
    "a colon": "Translate this text to English: %s",
    "a role": (
        "You are a professional machine translation engine. Only output the translated text.\n\nTranslate "
        "the following source text to English.\n\nSource Text: %s\n\nTranslated Text:"
    ),
    "a paragraph": "Please translate the following text into English.\n\n%s",
    "a tag": "You are a translator. Translate from German to English what is here.\n<text>\n%s\n</text>",
}


@pytest.mark.parametrize("client", PROMPTS)
@pytest.mark.parametrize("model", ["dragoman-de-en", "dragoman"])
def test_of_a_clients_prompt_the_text_alone_is_translated(
    http: httpx.Client, client: str, model: str
) -> None:
    """The instruction names the language, too."""
    prompted = http.post(PATH, json=body(PROMPTS[client] % TEXT, model))
    alone = http.post(PATH, json=body(TEXT, "dragoman-de-en"))

    assert prompted.status_code == 200, prompted.text
    assert prompted.json()["choices"] == alone.json()["choices"]
    assert prompted.json()["usage"] == alone.json()["usage"]


def test_a_prompt_and_the_model_must_agree(http: httpx.Client) -> None:
    """Else nobody knows which of both is meant."""
    response = http.post(PATH, json=body("Translate to French:\n\nHallo", "dragoman-de-en"))

    assert error_of(response)[:2] == (400, "ambiguous_language")


@pytest.mark.parametrize(
    "text",
    [
        'Translate into English:\n"""\nHallo\n"""\nUnd noch mehr Text, der keine Anweisung ist.',
        "Translate the following text to English.\nSource Text: \nTranslated Text:",
        '{"source_language": "de", "target_language": "en", "strings": [{"source": "Hallo"}]}',
        ' [{"id": 1, "text": "Hallo"}]',
    ],
)
def test_an_instruction_within_the_text_is_rejected(http: httpx.Client, text: str) -> None:
    """Nothing of it is translated, and nothing left out."""
    status, code, parameter, message = error_of(http.post(PATH, json=body(text)))

    assert (status, code, parameter) == (400, "instruction_in_text", "messages[0].content")
    assert "send the text alone" in message


@pytest.mark.parametrize(
    "text",
    [
        "Translate to English",
        "Translate this: Hallo",
        "So: translate to English: a",
        "Translate the page into English.\n\nThen press Enter.",
        "You are the king. Text: no.",
        "Guten Morgen.\nInput: eins\nOutput: zwei",
        "{name} hat {0} Hunde",
        "[1] Siehe oben",
        '{n, plural, one {"ein" Hund} other {# Hunde}}',
        "{}",
        '"Hallo"',
    ],
)
def test_a_text_about_translating_is_no_prompt(text: str) -> None:
    """Without a language, or without a text after it."""
    assert read_prompt(text, lambda found: "English" in found) is None
    assert not is_document(text)


@pytest.mark.parametrize("unit", ["Translate ", "```", "text:", "\n:", "<text>", "to ", '"', "{", "[", "a: "])
def test_reading_takes_linear_time(unit: str) -> None:
    """Of 100,000 characters."""
    for start in ("Translate to English ", "You are a translator ", ""):
        text = start + (unit * 100_000)[:100_000]
        started_s = time.process_time()
        read_prompt(text, lambda found: "English" in found)
        is_document(text)
        assert time.process_time() - started_s < 0.3
