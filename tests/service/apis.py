"""The five HTTP APIs as tests ask them: routes, requests for a translation, and the form of answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.service.deepl.conftest import error_of as deepl_error
from tests.service.google_translate.conftest import PATH as GOOGLE_PATH
from tests.service.google_translate.conftest import error_of as google_error
from tests.service.libretranslate.conftest import error_of as libretranslate_error
from tests.service.openai_chat.conftest import PATH as CHAT
from tests.service.openai_chat.conftest import body as chat
from tests.service.openai_chat.conftest import error_of as openai_error
from tests.service.test_hostile_requests import native_error


@dataclass(frozen=True, slots=True)
class Api:
    """An API: its routes that read a body, of which the first translates, and its requests and answers."""

    name: str
    paths: tuple[str, ...]
    body: Callable[[str, str], dict[str, Any]]
    """Returns a request to translate a text from a language, or from any if it is empty, into English."""
    text_of: Callable[[Any], str]
    """Returns the translation in an answer."""
    error_of: Callable[[httpx.Response], tuple[Any, ...]]
    """Returns the status first, after a look at the form."""
    scheme: str = "Bearer"

    def ask(
        self,
        client: httpx.Client,
        text: str,
        presented: str | None = "any",
        /,
        source: str = "de",
        **options: object,
    ) -> httpx.Response:
        headers = {} if presented is None else {"Authorization": f"{self.scheme} {presented}"}
        return client.post(self.paths[0], json=self.body(text, source) | options, headers=headers)

    def translate(self, client: httpx.Client, text: str, source: str = "de", **options: object) -> str:
        response = self.ask(client, text, source=source, **options)
        assert response.status_code == 200, response.text
        return self.text_of(response.json())


NATIVE = Api(
    "native",
    ("/v1/translate", "/v1/translate/stream"),
    lambda text, source: {"text": text, "source": source or "auto", "target": "en"},
    lambda answer: str(answer["translations"][0]["text"]),
    native_error,
)
LIBRETRANSLATE = Api(
    "libretranslate",
    ("/translate", "/detect", "/translate_file"),
    lambda text, source: {"q": text, "source": source or "auto", "target": "en"},
    lambda answer: str(answer["translatedText"]),
    libretranslate_error,
)
DEEPL = Api(
    "deepl",
    ("/v2/translate", "/v2/document", "/v2/glossaries", "/v2/document/x"),
    lambda text, source: {"text": [text], "source_lang": source.upper(), "target_lang": "EN"},
    lambda answer: str(answer["translations"][0]["text"]),
    deepl_error,
    "DeepL-Auth-Key",
)
GOOGLE = Api(
    "google",
    (GOOGLE_PATH, f"{GOOGLE_PATH}/detect"),
    lambda text, source: {"q": text, "source": source, "target": "en", "format": "text"},
    lambda answer: str(answer["data"]["translations"][0]["translatedText"]),
    google_error,
)
OPENAI = Api(
    "openai",
    (CHAT, "/v1/chat/completions"),
    lambda text, source: chat(text, f"dragoman-{source or 'auto'}-en"),
    lambda answer: str(answer["choices"][0]["message"]["content"]),
    openai_error,
)
APIS = (NATIVE, LIBRETRANSLATE, DEEPL, GOOGLE, OPENAI)
NAMES = ",".join(api.name for api in APIS)
