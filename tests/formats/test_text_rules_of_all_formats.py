"""The rules for texts in files of every format, with a model that is bad at copying."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings

from dragoman.types import Translation
from service.formats.entries import Entry
from service.formats.registry import open_format
from service.text.context import TextContext
from service.text.marked_text import MarkedText, MarkKind
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import BILINGUAL, OPTIONS, entries, own, rewritten, target_text, written
from tests.text.markup.marked import outcome
from tests.text.markup.translations import SEEDS
from tests.text.protection.bad_model import translate_badly
from tests.text.protection.test_text_rules import WORDS

MONOLINGUAL = sorted(FILES.keys() - BILINGUAL - {".pdf"})
KEPT = ["{app}", "12345", "1990", "https://example.org/a", "3e69f4250ce0ef47"]


def wording(random: Random) -> MarkedText:
    words = random.choices([*WORDS, *KEPT], k=random.randint(2, 9))
    return MarkedText(f"Wir {' '.join(words)}.")


def kept(marked: MarkedText) -> Counter[str]:
    """What is there as often in a text as in its translation."""
    found = Counter({each: marked.text.count(each) for each in KEPT})
    return found + Counter(each.shown.value for each in marked.objects)


def inner(marked: MarkedText, suffix: str) -> object:
    """A text with the places of its marks and objects; marks at its edges are outside of it in a file.

    In a presentation, a point after a blank stands for further blanks, which join the run before them.
    """
    inside = [
        (mark.at, mark.kind)
        for mark in marked.marks
        if 0 < mark.at < len(marked.text)
        and not (suffix == ".pptx" and mark.kind is MarkKind.POINT and marked.text[mark.at - 1] == " ")
    ]
    return marked.text, inside, [(each.start, each.end, each.shown) for each in marked.objects]


@pytest.mark.parametrize("suffix", MONOLINGUAL)
@settings(max_examples=4)
@given(random=SEEDS)
def test_texts_are_written_as_their_plans_made_them_and_others_as_they_were(
    suffix: str, random: Random
) -> None:
    file_format = open_format(f"a{suffix}", OPTIONS)

    def said(entry: Entry) -> MarkedText:
        if random.random() < 0.3:
            return entry.marked
        context = TextContext("de", "en", is_message=entry.is_message)
        return outcome(entry.marked, engine, context).marked

    def engine(text: str) -> Translation:
        return translate_badly(text, changes_digits=True)

    for seed in FILES[suffix]:
        content = rewritten(
            file_format,
            seed,
            lambda entry: target_text(wording(random)) if entry.marked.is_plain else own(entry),
        )
        before = entries(file_format, content)
        translated = [said(entry) for entry in before]
        after = entries(file_format, written(file_format, content, *map(target_text, translated)))

        assert [inner(entry.marked, suffix) for entry in after] == [
            inner(marked, suffix) for marked in translated
        ]
        assert [kept(entry.marked) for entry in after] == [kept(entry.marked) for entry in before]
        assert rewritten(file_format, content, own) == content
