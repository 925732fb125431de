"""JSON lines: strings are translated in place, and all else stays byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.entries import FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat
from tests.formats.rewriting import entries, own, places, rewritten, texts, written

strings = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(strings.filter(lambda key: key != "text"), values, max_size=4)


def of(*keys: str) -> JsonLinesFormat:
    return JsonLinesFormat(FileOptions("de", "en", keys))


@given(
    rows=st.lists(st.tuples(objects, strings), min_size=1),
    is_ascii=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
    ending=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_translations_are_in_their_places_and_all_else_is_as_it_was_byte_for_byte(
    rows: list[tuple[dict[str, Any], str]], *, is_ascii: bool, separators: tuple[str, str], ending: str
) -> None:
    content = "".join(
        json.dumps({"a": 1, "text": text, **row}, ensure_ascii=is_ascii, separators=separators) + ending
        for row, text in rows
    ).encode()

    result = rewritten(of(), content, lambda entry: entry.text[::-1])

    assert texts(of(), content) == [text for _, text in rows if text.strip()]
    assert rewritten(of(), content, own) == content
    assert [json.loads(line) for line in result.split(b"\n") if line.strip()] == [
        {"a": 1, "text": text[::-1] if text.strip() else text, **row} for row, text in rows
    ]


LINES = {
    "numbers, order and spacing of a changed line stay": (
        (),
        b'{ "n":1.0e+05,"big" : 123456789012345678901234567890, "text":"Hallo" , "t":true}\r\n',
        [("Hallo", "line 1, key text")],
        ("Hello",),
        b'{ "n":1.0e+05,"big" : 123456789012345678901234567890, "text":"Hello" , "t":true}\r\n',
    ),
    "a text that stays is spelled as it was": (
        (),
        b'{"text": "\\u0041 \\/ \\u00FC"}\n',
        [("A / ü", "line 1, key text")],
        ("A / ü",),
        b'{"text": "\\u0041 \\/ \\u00FC"}\n',
    ),
    "a value written in ASCII stays in ASCII": (
        (),
        b'{"text": "Gr\\u00fc\\u00dfe"}\n{"text": "Gr\xc3\xbc\xc3\x9fe"}\n',
        [("Grüße", "line 1, key text"), ("Grüße", "line 2, key text")],
        ("Ähre", "Ähre"),
        b'{"text": "\\u00c4hre"}\n{"text": "\xc3\x84hre"}\n',
    ),
    "keys reach into objects and lists": (
        ("title.de", "tags", "messages.content"),
        (
            b'{"title": {"de": "Titel", "n": 1}, "tags": ["eins", null, ["zwei"]], "messages": '
            b'[{"role": "user", "content": "drei"}, {"content": "vier"}, 5], "title.de": "flach"}\n'
        ),
        [
            ("Titel", "line 1, key title.de"),
            ("eins", "line 1, key tags[1]"),
            ("zwei", "line 1, key tags[3][1]"),
            ("drei", "line 1, key messages[1].content"),
            ("vier", "line 1, key messages[2].content"),
            ("flach", "line 1, key title.de"),
        ],
        ("Title", "one", "two", "three", "four", "flat"),
        (
            b'{"title": {"de": "Title", "n": 1}, "tags": ["one", null, ["two"]], "messages": '
            b'[{"role": "user", "content": "three"}, {"content": "four"}, 5], "title.de": "flat"}\n'
        ),
    ),
    "lines may lack a key or have nothing for it": (
        (),
        b'{"id": 1}\n\n{"text": null}\n{"text": ""}\n{"text": "a"}',
        [("a", "line 5, key text")],
        ("b",),
        b'{"id": 1}\n\n{"text": null}\n{"text": ""}\n{"text": "b"}',
    ),
}


@pytest.mark.parametrize("rule", LINES)
def test_strings_are_read_with_their_place_and_written(rule: str) -> None:
    keys, content, found, translations, result = LINES[rule]

    assert places(of(*keys), content) == found
    assert written(of(*keys), content, *translations) == result


def test_numbers_may_have_any_number_of_digits() -> None:
    content = b'{"n": ' + b"1" * 10_000 + b', "text": "Hallo"}'

    assert written(of(), content, "Hello") == content.replace(b"Hallo", b"Hello")


def test_an_unknown_key_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(FileFormatError, match=r"^no line has the key text; .*the first line: id, body$"):
        entries(of(), b'{"id": 1, "body": "a"}\n{"id": 2}\n')


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[]", "line 2 is not a JSON object: character 1: an object is expected"),
        (b'"text"', "line 2 is not a JSON object: character 1: an object is expected"),
        (b'{"text": "a"', "line 2 is not a JSON object: character 13: a comma or a closing brace"),
        (
            b'{"text": "a"} {',
            "line 2 is not a JSON object: character 15: each line must have exactly one object",
        ),
        (b'{"text" "a"}', "line 2 is not a JSON object: character 9: a colon is expected"),
        (b'{"text": "a\tb"}', "line 2 is not a JSON object: character 12: Invalid control character"),
        (b'{"text": "a}', "line 2 is not a JSON object: character 10: Unterminated string"),
        (b'{1: "a"}', "line 2 is not a JSON object: character 2: a key in quotation marks is expected"),
        (b'{"a": nul}', "line 2 is not a JSON object: character 7: Expecting value"),
        (b'{"a": ' + b"[" * 100_000, "line 2 is not a JSON object: character 7: it is nested too deeply"),
        (b'{"text": ' + b"[" * 200 + b"]" * 200 + b"}", "line 2, key text.*: not a string"),
        (b'{"text": 1}', "line 2, key text: not a string; choose keys of strings"),
        (b'{"text": {"de": "a"}}', "line 2, key text: not a string"),
        (b'{"text": "a\\ud800"}', "line 2, key text: character 2 is a lone surrogate"),
        (b'{"text": "\xff"}', "line 2 is not UTF-8: byte 0xff at position 11"),
    ],
)
def test_bad_lines_are_rejected_with_their_place(line: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(of(), b'{"text": "a"}\n' + line + b"\n")
