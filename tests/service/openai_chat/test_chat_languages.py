"""The languages of a chat, from the model's name and system messages, and prompts of popular clients."""

import re

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.routing.routes import Routes
from dragoman.types import Formality
from service.api.openai.api import Chat, read_chat
from service.api.openai.language_names import LanguageNames
from service.api.openai.languages import ChatLanguages, languages_of_model, languages_of_text
from service.api.openai.prompts import is_for_chat_model, read_prompt
from service.api.openai.schemas import ChatCompletionRequest
from service.http.errors import ApiError
from tests.engine.routing.doubles import offer
from tests.linear import count_calls
from tests.service.openai_chat.conftest import PATH, body, error_of

ROUTES = Routes([offer("a", "de fr", "en"), offer("b", "en", "de fr it pt-BR zh-Hans zh-Hant no")])
NAMES = LanguageNames(ROUTES)


def of_text(text: str) -> ChatLanguages:
    return languages_of_text(text, NAMES)


@pytest.mark.parametrize(
    ("text", "target", "source"),
    [
        ("German", "de", ""),
        ("Deutsch", "de", ""),
        ("translate INTO GERMAN, and nothing else", "de", ""),
        ("Translate the following text from English into German:", "de", "en"),
        ("You are an English-to-German translator.", "de", "en"),
        ("English → **French**", "fr", "en"),
        ("Translate into natural, fluent French.", "fr", ""),
        ("Translate to the German language", "de", ""),
        ("Translate to français", "fr", ""),
        ("Translate to `de`.", "de", ""),
        ("target: it", "it", ""),
        ("source language: English\ntarget language = Italian", "it", "en"),
        ("The target language is Italian.", "it", ""),
        ("source_lang: en, target_lang: zh-TW", "zh-Hant", "en"),
        ("Translate into Simplified Chinese.", "zh-Hans", ""),
        ("Translate into Brazilian Portuguese.", "pt-BR", ""),
        ("Translate into 繁體中文", "zh-Hant", ""),
        ("You are a French native translator who translates text into French.", "fr", ""),
        ("You need to translate English text into German. Keep close to it.", "de", ""),
        ("Translate to German. Translate all to German.", "de", ""),
        ("English->German", "de", "en"),
        ("EN→DE", "de", "en"),
        ("en-de", "de", "en"),
        ("en_pt_BR", "pt-BR", "en"),
        ("English - French", "fr", "en"),
        ("text from language 'en'\nto language 'it' with precision", "it", "en"),
        ("target: 'de'", "de", ""),
        ("from 'en' to 'zh_Hant'", "zh-Hant", "en"),
        ("to language 'de@formal'", "de", ""),
        ("Übersetze ins Deutsche.", "de", ""),
        ("Sie sind Übersetzer. Übersetzen Sie aus dem Englischen ins Französische!", "fr", "en"),
        ("Übersetze von Englisch nach Deutsch", "de", "en"),
        ("Antworte auf Deutsch.", "de", ""),
        ("Answer in German.", "de", ""),
        ("Output language: German", "de", ""),
        ("Provide the German translation.", "de", ""),
        ("You are an English-German translator.", "de", "en"),
        ("rewrite the following content in German.", "de", ""),
        ("Translate to German. Do not translate into English.", "de", ""),
        ("Write in French what is to be translated to German.", "de", ""),
    ],
)
def test_the_convention_names_languages(text: str, target: str, source: str) -> None:
    assert of_text(text) == ChatLanguages(target, source or None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You are a helpful assistant.",
        "You are a German translator.",
        "The text is in German.",
        "Do not translate into German.",
        "Input: I am\nOutput: is it",
        "Listen to it. Say no to no one. Go to the man.",
        "Stick to de-escalation.",
        "Translate to {{language}}.",
        "Germany",
        "Translate to Germany",
    ],
)
def test_other_words_name_none(text: str) -> None:
    assert of_text(text) == ChatLanguages()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("Translate into German. Then translate into French.", "ambiguous_language", "several target"),
        ("English to German, or German to English", "ambiguous_language", "several target"),
        ("From German or from English into Italian", "ambiguous_language", "several source"),
        ("Translate into Japanese.", "unsupported_language", "names ja as the target"),
        ("Translate from Italian into English.", "unsupported_language", "names it as the source"),
        ("No language at all", "missing_language", "the target language is missing"),
    ],
)
def test_missing_and_ambiguous_options_are_reported(
    http: httpx.Client, text: str, code: str, words: str
) -> None:
    status, found_code, parameter, message = error_of(
        http.post(PATH, json=body(model="dragoman", system=text))
    )

    assert (status, found_code, parameter) == (400, code, "messages")
    assert words in message


@pytest.mark.parametrize(
    ("model", "target", "source"),
    [
        ("dragoman", "", ""),
        ("dragoman-auto", "", ""),
        ("Dragoman-DE", "de", ""),
        ("auto-de", "de", ""),
        ("dragoman-en-de", "de", "en"),
        ("dragoman-en-pt-BR", "pt-BR", "en"),
        ("pt", "pt-BR", ""),
        ("auto-zh-TW", "zh-Hant", ""),
        ("en-US", "en", ""),
        ("fr-de", "de", "fr"),
        ("openai/dragoman-en-de", "de", "en"),
    ],
)
def test_the_name_of_a_model_names_languages(model: str, target: str, source: str) -> None:
    assert languages_of_model(model, NAMES.catalogue) == ChatLanguages(target or None, source or None)


@pytest.mark.parametrize("model", ["it-de", "openai/gpt-4o", "gpt-4o-mini", "", "-" * 100_000])
def test_other_models_are_unknown(model: str) -> None:
    with pytest.raises(ApiError, match="no such model"):
        languages_of_model(model, NAMES.catalogue)


def test_the_model_and_a_system_message_must_agree(http: httpx.Client) -> None:
    def send(model: str, system: str) -> httpx.Response:
        return http.post(PATH, json=body("Hello", model, system))

    agreed = send("dragoman-en-fr", "Translate from English to French.").json()
    assert agreed["choices"][0]["message"]["content"] == "Hello|french"
    assert send("en-fr", "Always answer in German.").status_code == 200, (
        "of the model, only plain words differ"
    )
    for system in ("Translate to German.", "Translate from German."):
        assert error_of(send("dragoman-en-fr", system))[:3] == (400, "ambiguous_language", "messages")
    assert send("en-fr", "You are a helpful assistant.").status_code == 200
    assert error_of(send("fr", "x" * 8001))[:2] == (400, "string_above_max_length")


def test_a_source_that_is_named_is_not_detected(http: httpx.Client) -> None:
    found = http.post(PATH, json=body("Hallo", "dragoman", "Translate from English to French.")).json()
    assert found["choices"][0]["message"]["content"] == "Hallo|french"


@given(st.text(max_size=200) | st.text("to fromagetl:-> (\n", max_size=200))
def test_any_text_names_languages_or_is_rejected(text: str) -> None:
    try:
        found = of_text(text)
    except ApiError:
        return
    assert found.target in {None, *ROUTES.targets()}
    assert found.source in {None, *ROUTES.sources()}


TEXT = 'Guten Morgen: "Hallo"!\n\nWie geht es dir?'
PROMPTS = [
    "Translate this text to English: %s",
    "You are a translation engine. Only output the text.\n\nTranslate it to English.\n\nText: %s\n\nResult:",
    "Please translate the following text into English.\n\n%s",
    "You are a translator. Translate from German to English what is here.\n<text>\n%s\n</text>",
]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("model", ["dragoman-de-en", "dragoman"])
def test_of_a_prompt_the_text_alone_is_translated(prompt: str, model: str) -> None:
    """The instruction names the language, too."""
    found = chat(prompt % TEXT, model)
    assert (found.text, found.translation_request.target) == (TEXT, "en")


def test_a_prompt_and_the_model_must_agree(http: httpx.Client) -> None:
    """Else nobody knows which of both is meant."""
    response = http.post(PATH, json=body("Translate to French:\n\nHallo", "dragoman-de-en"))

    assert error_of(response)[:2] == (400, "ambiguous_language")


@pytest.mark.parametrize(
    "text",
    [
        "### Task:\nWrite a title.\n### Output:\nJSON format: {}\n### Chat History:\nHallo",
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
    assert read_prompt(text, NAMES) is None
    assert not is_for_chat_model(text)


CERTAIN = [
    "Translate the following text into German:",
    "Please translate this text from English into German.",
    "Translate to German, keep the tags:",
    "Übersetze ins Deutsche:",
    "You are a translation engine. Only output the result.\n\nTranslate this to German:",
    "You are a translator. Find the language, use German (de).\nTranslate the following text into German:",
    "You are an English to German translator. Keep its nuances.\nTranslate the following text into German:",
]
UNCERTAIN = [
    "Translate to German: ",
    "Translate this into German. ",
    "You are an English to German translator.",
    "Respond in German.",
    "English -> German",
    "en-de",
    "Only reply the result and nothing else. Translate from English to German:",
]
"""Instructions that count if nothing else names a target."""
LINE = st.text("abcÄ .:!?", min_size=1, max_size=12) | st.sampled_from(
    [
        *(
            "Source: the Times.",
            "Text: as agreed.",
            "Input:",
            "Translated Text:",
            "Output: two",
            "- [ ] a",
            "1. b",
        ),
        *(
            "```",
            "```sh",
            "<text>",
            "</text>",
            "<text>Name</text>",
            '"""',
            '"a" =>',
            "# Context",
            "> to German:",
        ),
        *(
            "Then check the translation of the menu.",
            "Translate page to German: on",
            "    ls -la",
            "Dear team,",
        ),
        *("You are invited to our translation workshop, from English to German:", "German", "| a | b |", ""),
    ]
)
"""Lines as in README files, mails and prompts."""
FRAMES = {("```", "```"), ('"""', '"""'), ("<text>", "</text>")}
FRAME = r"^(?:<text>|\")(.*)(?:</text>|\" =>)$"
LABELS = ("Source:", "Text:", "Input:")


def chat(message: str, model: str = "dragoman", system: str = "") -> Chat:
    return read_chat(ChatCompletionRequest.model_validate(body(message, model, system)), NAMES)


def unframed(text: str) -> set[str]:
    """The text, and what is left of it without a frame around all of it or a label at its beginning."""
    lines, found = text.strip().split("\n"), {text.strip(), re.sub(FRAME, r"\1", text.strip())}
    if text.strip().startswith(LABELS):
        rest = text.strip().partition(":")[2]
        found |= unframed(rest) | unframed(re.sub(r"\n(?:Translated Text|Output):$", "", rest))
    if (lines[0].strip(), lines[-1].strip()) in FRAMES:
        found.add("\n".join(lines[1:-1]).strip())
    return found


@settings(max_examples=400, deadline=None)
@given(
    instruction=st.sampled_from([*CERTAIN, *UNCERTAIN]),
    gap=st.sampled_from(["\n\n", "\r\n\r\n", "\n \n"]),
    lines=st.lists(LINE, min_size=1, max_size=30).filter(lambda lines: any(map(str.strip, lines))),
)
def test_no_line_of_a_text_behind_an_instruction_is_lost(
    instruction: str, gap: str, lines: list[str]
) -> None:
    """Only a frame around all of it, or a label that begins it, is taken off."""
    text = "\n".join(lines)
    try:
        found = chat(instruction + gap + text).text.strip()
    except ApiError:
        found = ""  # an instruction without a text

    assert found in unframed(text)


@settings(max_examples=200, deadline=None)
@given(
    instruction=st.sampled_from(UNCERTAIN),
    first=st.text("abc Ä.!?", min_size=1).filter(lambda line: bool(line.strip())),
    lines=st.lists(LINE, max_size=30),
)
def test_a_text_that_may_be_a_prompt_is_translated_whole(
    instruction: str, first: str, lines: list[str]
) -> None:
    """If the model or the system names the target."""
    text = "\n".join([f"{instruction} {first}", *lines])

    assert chat(text, "dragoman-en-de").text == chat(text, system="Translate to German").text == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Source: the Times.\nNobody believed it.", ""),
        ("Fill in your name:\n<text>Name</text>", ""),
        ("Please run this command:\n```\nls -la\n```\nThen check the translation of the menu.", ""),
        ("Dear team,\nplease answer by Friday. Text: as agreed. Thank you.", ""),
        ("```\nls\n```\nand\n```\nls -la\n```", ""),
        ("```sh\nls\n```", ""),
        ("```\nHello\n\nAnna\n```", "Hello\n\nAnna"),
        ("<source_text>Hello</source_text>", "Hello"),
        ('"Hello" =>', "Hello"),
    ],
)
def test_only_a_frame_around_the_whole_text_is_taken_off(text: str, kept: str) -> None:
    assert chat(f"Translate into German:\n\n{text}").text == (kept or text)


@pytest.mark.parametrize(
    "text",
    [
        "You are invited to our translation workshop, from English to German:\n\nWe meet at nine.",
        "Translate page to German: on\nTranslate page to English: off",
        "Please translate to English: this is what the letter said.",
        "German\n\nFrench",
        "# Translate texts into German\n\nUse it so:",
    ],
)
def test_a_text_about_languages_is_whole_if_the_model_names_them(text: str) -> None:
    assert chat(text, "dragoman-en-de").text == text


def test_languages_in_the_context_of_a_prompt_do_not_count() -> None:
    context = "# Context\nTitle: How to translate to French\n\n# Task\n"
    found = chat(f"{context}Translate the Source Text below to German.\n\nSource Text: Hello")

    assert (found.text, found.translation_request.target) == ("Hello", "de")


@pytest.mark.parametrize(
    "context", ["## Metadata of it\n{}\n", "# Context\nA: b\n{}\n# Rules", "Page title: {}"]
)
@pytest.mark.parametrize("title", ["How to translate to French", "target: ja", "From Italian into English"])
def test_languages_in_the_context_of_a_system_message_do_not_count(context: str, title: str) -> None:
    system = f"Translate into German.\n\n{context.format(title)}"
    assert chat("Hello", system=system).translation_request.target == "de"


@pytest.mark.parametrize(
    ("instruction", "formality"),
    [
        ("Translate into formal German.", Formality.PREFER_FORMAL),
        ("Translate into polite German.", Formality.PREFER_FORMAL),
        ("Translate to language 'de@formal'.", Formality.PREFER_FORMAL),
        ("Translate into informal German.", Formality.PREFER_INFORMAL),
        ("Translate into German, use Sie.", Formality.PREFER_FORMAL),
        ("Übersetze ins Deutsche, mit \u201edu\u201c.", Formality.PREFER_INFORMAL),
        ("Translate into German, do not use formal language.", None),
        ("Translate into German, formal or informal as the text is.", None),
        ("Übersetzen Sie ins Deutsche.", None),
        ("Du bist ein Übersetzer ins Deutsche.", None),
    ],
)
def test_a_form_of_address_is_preferred_if_an_instruction_names_it(
    instruction: str, formality: Formality | None
) -> None:
    for found in (chat("Hello", system=instruction), chat(f"{instruction}\n\nHello")):
        assert found.text == "Hello"
        assert found.translation_request.options.decoding.formality is formality


@pytest.mark.parametrize("unit", ["Translate ", "```", "text:", "\n:", "<text>", "to ", '"', "{", "[", "a: "])
def test_only_the_beginning_of_a_text_is_read(unit: str) -> None:
    def read(size: int) -> None:
        for start in ("Translate to English ", "You are a translator ", ""):
            text = start + (unit * size)[:size]
            read_prompt(text, NAMES)
            is_for_chat_model(text)

    read(5_000)

    assert count_calls(lambda: read(5_000)) == count_calls(lambda: read(10_000))
