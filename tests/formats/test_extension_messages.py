"""Messages of browser extensions: what is text, and what happens to dollar signs."""

import json

import pytest

from service.formats.entries import Entry
from service.formats.json_strings import JsonFormat
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, texts
from tests.formats.string_samples import EXTENSION

JSON = JsonFormat(OPTIONS)


def _file(message: str, **placeholders: str) -> bytes:
    named = {name: {"content": content} for name, content in placeholders.items()}
    return json.dumps({"a": {"message": message, "description": "Wozu", "placeholders": named}}).encode()


def _message(content: bytes) -> str:
    return str(json.loads(content)["a"]["message"])


def test_messages_are_entries_and_notes_about_them_are_not() -> None:
    assert places(JSON, EXTENSION) == [
        ('Meine <g i="0">Erweiterung</g>', "line 2, key app_name"),
        (
            '$USER$ hat <x i="0"/> Dateien für <x i="1"/> gefunden',
            "line 4, key found",
        ),
    ]
    assert rewritten(JSON, EXTENSION, own) == EXTENSION
    assert rewritten(JSON, EXTENSION, shouted).decode() == EXTENSION.decode().replace(
        "Meine <b>Erweiterung</b>", "MEINE <b>ERWEITERUNG</b>"
    ).replace("hat $1 Dateien für $$5 gefunden", "HAT $1 DATEIEN FÜR $$5 GEFUNDEN")


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("$USER$ wins", "$USER$ wins"),
        ("$user$ wins", "$user$ wins"),
        ("it costs $5", "it costs $$5"),
        ("$OTHER$ wins", "$$OTHER$$ wins"),
        ("$USER$USER$", "$USER$USER$$"),
        ("$OTHER$USER$", "$$OTHER$USER$"),
        ("$$", "$$$$"),
    ],
)
def test_dollar_signs_of_a_translation_are_doubled_except_around_the_names_of_placeholders(
    said: str, written: str
) -> None:
    def say(_: Entry) -> str:
        return said

    assert _message(rewritten(JSON, _file("es gewinnt", user="$1"), say)) == written


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("Nr. $1 von $9", 'Nr. <x i="0"/> von <x i="1"/>'),
        ("für $$1.50.", 'für <x i="0"/>.'),
        ("ab $$ und $0", 'ab <x i="0"/> und $0'),
    ],
)
def test_values_and_amounts_are_kept_as_they_are(text: str, entry: str) -> None:
    content = _file(text)

    assert texts(JSON, content) == [f"{entry}"]
    assert _message(rewritten(JSON, content, own)) == text


@pytest.mark.parametrize(
    "source",
    [
        {"a": {"message": "ja"}},
        {"a": {"message": "ja", "description": "nein"}, "b": "doch"},
        {"a": {"message": "ja", "description": "nein", "title": "doch"}},
        {"a": {"message": ["ja"], "description": "nein"}},
        {"a": {"description": "nein"}},
    ],
)
def test_other_json_is_recognised_by_its_structure(source: dict[str, object]) -> None:
    found = texts(JSON, json.dumps(source).encode())

    assert sorted(found) == sorted(
        word for word in ("doch", "ja", "nein") if f'"{word}"' in json.dumps(source)
    )
