"""Apple's plural rules: which strings are entries, and which categories are added."""

import plistlib

import pytest

from service.formats.entries import FileOptions
from service.formats.stringsdict import StringsdictFormat
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted
from tests.formats.string_samples import STRINGSDICT

RULES = StringsdictFormat(OPTIONS)
POLISH = StringsdictFormat(FileOptions("de", "pl"))
FILE = "key %d files in %d folders"


def _rule(*categories: str, rule: str = "NSStringPluralRuleType") -> bytes:
    """A file with a rule, each of whose strings is `x` and its category."""
    strings = {category: f"x{category}" for category in categories}
    value = {"NSStringFormatSpecTypeKey": rule, **strings}
    return plistlib.dumps({"a": {"v": value}}, sort_keys=False)


def test_strings_with_words_are_entries_with_their_keys() -> None:
    assert places(RULES, STRINGSDICT) == [
        ("%1$#@files@ in %2$#@folders@", f"{FILE}.NSStringLocalizedFormatKey"),
        ("%d gelöschte Datei", f"{FILE}.files.one"),
        ("%d gelöschte Dateien", f"{FILE}.files.other"),
        ("einem Ordner", f"{FILE}.folders.one"),
        ('%d <g i="0">Ordnern</g> &amp; mehr', f"{FILE}.folders.other"),
        ("Hallo", "key greeting.NSStringVariableWidthRuleType.1"),
        ("Guten Morgen", "key greeting.NSStringVariableWidthRuleType.50"),
    ]


def test_keys_types_and_layout_stay() -> None:
    result = rewritten(RULES, STRINGSDICT, shouted).decode()

    assert result.replace("GUTEN MORGEN", "<![CDATA[Guten Morgen]]>").lower() == STRINGSDICT.decode().lower()
    read = plistlib.loads(result.encode())
    assert read["%d files in %d folders"]["folders"] == {
        "NSStringFormatSpecTypeKey": "NSStringPluralRuleType",
        "NSStringFormatValueTypeKey": "d",
        "one": "EINEM ORDNER",
        "other": "%D <b>ORDNERN</b> & MEHR",
    }


def test_plural_categories_of_the_target_language_are_added_after_the_last_one() -> None:
    content = _rule("one", "other").replace(b"<string>xother</string>\n", b"<string>xother</string>\n\n")

    written = rewritten(POLISH, content, shouted)

    rule = plistlib.loads(written)["a"]["v"]
    assert list(rule) == ["NSStringFormatSpecTypeKey", "one", "other", "few", "many"]
    assert (rule["one"], rule["few"], rule["many"]) == ("XONE", "XOTHER", "XOTHER")
    assert (
        b"<string>XOTHER</string>\n\t\t\t<key>few</key>\n\t\t\t<string>XOTHER</string>\n\t\t\t<key>many"
        in written
    )
    assert rewritten(POLISH, content, lambda _: "").count(b"few") == 0


@pytest.mark.parametrize(
    ("content", "added"),
    [
        (_rule("other"), ["one"]),
        (_rule("one"), []),
        (_rule("zero", "one", "other"), []),
        (_rule("other", rule="NSStringOtherRuleType"), []),
        (_rule("other").replace(b"xother", b"%d"), []),
    ],
)
def test_categories_are_added_to_plural_rules_alone(content: bytes, added: list[str]) -> None:
    before, after = (plistlib.loads(each)["a"]["v"] for each in (content, rewritten(RULES, content, own)))

    assert [key for key in after if key not in before] == added
