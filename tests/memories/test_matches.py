"""Equal and similar texts of a memory, and pairs of TMX files."""

from io import BytesIO

import pytest

from dragoman.types import Pair
from service.memories.memory_service import MemoryService
from service.memories.pairs import MemoryMatch, SegmentPair, TextMatches, fit_target, normalise, source_digest
from service.memories.similarity import MAX_SEARCHED_CHARACTERS, SimilarityIndex
from service.memories.store import Memory, MemoryStore
from service.memories.tmx import TmxPairs

SENTENCE = "Der Hund rennt über die grüne Wiese."


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        ("Gute Nacht.", "  Gute\n\tNacht. ", True),
        ("\u00e4", "a\u0308", True),
        ("a\u00a0b", "a b", True),
        ("Seite 3", "Seite 4", False),
        ("Hallo {name}", "Hallo {user}", False),
        ("ja", "Ja", False),
        ("ja", "ja!", False),
    ],
)
def test_texts_are_equal_up_to_white_space_and_unicode_form(one: str, other: str, is_equal: bool) -> None:  # noqa: FBT001
    assert (normalise(one) == normalise(other)) is is_equal
    assert (source_digest(one) == source_digest(other)) is is_equal


@pytest.mark.parametrize(
    ("text", "pair", "expected"),
    [
        ("  ja\n", SegmentPair("ja", " yes "), "  yes\n"),
        ("Hallo {name}", SegmentPair("Hallo {name}", "Hello {name}"), "Hello {name}"),
        ("Hallo {name}", SegmentPair("Hallo {name}", "Hello {Name}"), None),
        ("%s von %s", SegmentPair("%s von %s", "%s of"), None),
    ],
)
def test_a_target_keeps_space_and_is_not_used_without_the_placeholders(
    text: str, pair: SegmentPair, expected: str | None
) -> None:
    assert fit_target(text, pair) == expected


def test_similar_sources_are_sorted_by_their_score() -> None:
    near, farther, equal = SENTENCE.replace("grüne", "graue"), SENTENCE.replace("grüne", "schöne"), SENTENCE
    index = SimilarityIndex([SegmentPair(text, text.upper()) for text in (farther, equal, near, "Nein.")])

    found = index.search(SENTENCE, 5)

    assert [match.source for match in found] == [near, farther]
    assert 1 > found[0].score > found[1].score >= 0.85
    assert found[0] == MemoryMatch(near, near.upper(), found[0].score)
    assert index.search(SENTENCE, 1) == found[:1]


def test_a_score_is_the_part_in_common() -> None:
    index = SimilarityIndex([SegmentPair("abcdefghi", "x")])
    assert index.search("abcdefghij", 1) == (MemoryMatch("abcdefghi", "x", round(18 / 19, 4)),)


def test_the_search_finds_what_a_search_through_all_lengths_finds() -> None:
    texts = ["a" * length for length in range(1, 3000)]
    index = SimilarityIndex([SegmentPair(text, "x") for text in texts])

    found = index.search("a" * 100, 3000)

    expected = [n for n in range(1, 3000) if n != 100 and 2 * min(n, 100) / (n + 100) >= 0.85]
    assert sorted(len(match.source) for match in found) == expected


def test_very_long_and_empty_texts_are_not_searched_for() -> None:
    long = "a" * (MAX_SEARCHED_CHARACTERS + 1)
    index = SimilarityIndex([SegmentPair(long + "b", "x")])
    assert index.search(long, 1) == index.search(" ", 1) == ()


def test_an_equal_source_has_a_translation_and_no_similar_pairs(store: MemoryStore, memory: Memory) -> None:
    found = MemoryService(store).find_matches(memory, ["Gute Nacht.", "Guten Morgen!", "Nein."], 3)

    assert found[0] == TextMatches("Good night.")
    assert found[1].target is None
    assert [match.target for match in found[1].similar] == ["Good morning."]
    assert found[2] == TextMatches(None)


def test_a_change_of_the_memory_is_seen_by_the_next_search(
    store: MemoryStore, owner: str, memory: Memory
) -> None:
    service = MemoryService(store)
    assert service.find_matches(memory, [SENTENCE], 3) == (TextMatches(None),)

    changed = store.add_pairs(owner, memory.id, [SegmentPair(SENTENCE + "!", "x")])

    assert [match.target for match in service.find_matches(changed, [SENTENCE], 3)[0].similar] == ["x"]


def _tmx(*units: str) -> BytesIO:
    body = "".join(f"<tu>{unit}</tu>" for unit in units)
    return BytesIO(f'<tmx version="1.4"><header srclang="de"/><body>{body}</body></tmx>'.encode())


def _variant(language: str, segment: str) -> str:
    return f'<tuv xml:lang="{language}"><seg>{segment}</seg></tuv>'


def test_units_in_both_languages_are_pairs_and_the_others_are_counted() -> None:
    pairs = TmxPairs(
        _tmx(
            _variant("de-AT", "a &amp; b") + _variant("fr", "c") + _variant("EN-us", "d"),
            _variant("de", "nur eins"),
            _variant("de", " ") + _variant("en", "empty"),
            _variant("en", "order") + _variant("de", "egal"),
        ),
        Pair("de", "en"),
    )

    assert list(pairs) == [SegmentPair("a & b", "d"), SegmentPair("egal", "order")]
    assert pairs.num_skipped == 2


def test_codes_are_the_text_that_they_hold() -> None:
    segment = '<bpt i="1">&lt;b&gt;</bpt>{}<ept i="1">&lt;/b&gt;</ept> <ph>%s</ph> <hi>{}</hi>'
    pairs = TmxPairs(
        _tmx(_variant("de", segment.format("fett", "x")) + _variant("en", segment.format("bold", "y"))),
        Pair("de", "en"),
    )
    assert list(pairs) == [SegmentPair("<b>fett</b> %s x", "<b>bold</b> %s y")]


def test_a_code_without_content_skips_the_unit() -> None:
    pairs = TmxPairs(_tmx(_variant("de", 'a<ph x="1"/>') + _variant("en", "b")), Pair("de", "en"))
    assert (list(pairs), pairs.num_skipped) == ([], 1)
