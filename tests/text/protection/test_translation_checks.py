"""Checks of translations."""

import pytest

from service.text.checks import check_length, check_syntax
from service.text.outcome import Check


@pytest.mark.parametrize(
    ("source", "target", "check"),
    [
        ("Datei {name}", "File", Check.PLACEHOLDERS),
        ("Datei {name}", "File {name} {name}", Check.PLACEHOLDERS),
        ("Datei", "File {name}", Check.PLACEHOLDERS),
        ("%s von %d", "%d of %s", Check.PLACEHOLDERS),
        ("<b>Datei</b>", "<b>File", Check.TAGS),
        ("Datei", "<i>File</i>", Check.TAGS),
        ("Datei", " ", Check.EMPTY),
        ("{n, plural, other {#}}", "{n, plural, other {#}", Check.ICU),
    ],
)
def test_broken_syntax_is_found(source: str, target: str, check: Check) -> None:
    [failure] = check_syntax(source, target)

    assert failure.check is check
    assert str(failure).startswith(f"{check}: ")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Datei {a} und {b}", "{b} and file {a}"),
        ("%1$s von %2$s", "%2$s of %1$s"),
        ("<b>Datei</b>", "<b>File</b>"),
        ("https://a.example", "See https://a.example"),
        ("50% Rabatt", "50% discount"),
        ("...", ""),
        ("{n, plural, other {# %s}}", "{n, plural, one {# %s} other {# %s}}"),
    ],
)
def test_sound_syntax_passes(source: str, target: str) -> None:
    assert check_syntax(source, target) == ()


@pytest.mark.parametrize(
    ("source", "target", "checks"),
    [
        ("Öffnen", "Open " * 20, [Check.LENGTH]),
        ("Wort " * 30, "Word", [Check.LENGTH]),
        ("OK", "All right then", []),
    ],
)
def test_lengths_are_compared(source: str, target: str, checks: list[Check]) -> None:
    assert [failure.check for failure in check_length(source, target)] == checks
