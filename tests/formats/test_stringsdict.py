"""Apple's plural rules: which strings are entries, and which categories are added."""

import plistlib

import pytest

from service.formats.entries import FileFormatError, FileOptions
from service.formats.stringsdict import StringsdictFormat
from tests.formats.rewriting import OPTIONS, entries, own, places, rewritten, shouted, texts
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
        ('<t xml:space="preserve">%d <g i="0">Ordnern</g> &amp; mehr</t>', f"{FILE}.folders.other"),
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


def test_columns_select_keys_and_all_within_them() -> None:
    def selected(*columns: str) -> list[str]:
        return texts(StringsdictFormat(FileOptions("de", "en", columns)), STRINGSDICT)

    assert selected("greeting") == ["Hallo", "Guten Morgen"]
    assert selected("%d files in %d folders.folders.one") == ["einem Ordner"]
    with pytest.raises(FileFormatError, match="no text has the key x"):
        selected("x")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not well-formed XML: no element found"),
        (b"bplist00\xd0", "it is a binary property list; use the file of the project's sources"),
        (b"<dict><key>a</key><string>b</string></dict>", "it is not a file of plural rules"),
        (b"<plist><string>b</string></plist>", "it is not a file of plural rules: <plist> with a <dict>"),
        (b"<a><dict/></a>", "it is not a file of plural rules"),
        (
            b"<plist>" + b"<dict>" * 101 + b"</dict>" * 101 + b"</plist>",
            "elements are nested more than 100 deep",
        ),
        (
            b"<plist><dict><key>" + b"a" * 1001 + b"</key><string>b</string></dict></plist>",
            "'a{40}'...: a key with those around it is longer than 1,000 characters",
        ),
        (b'<!DOCTYPE plist [<!ENTITY a "b">]><plist/>', "entity 'a' is declared, which is not supported"),
    ],
)
def test_what_is_no_file_of_plural_rules_is_rejected(content: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(RULES, content)
