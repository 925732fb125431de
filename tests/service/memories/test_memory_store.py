"""Translation memories: whose they are, and their equal and similar texts."""

import tracemalloc
import uuid
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import TranslationCancelled
from dragoman.pipeline.pacing import Pacer
from dragoman.types import Pair
from service.accounts.database import MAX_ROWS, Database
from service.accounts.totals import Resource, Total, read_total
from service.memories import memory_service
from service.memories.errors import MemoryInvalid, TooManyMemories, UnknownMemory, UnknownPair
from service.memories.memory_service import MemoryService
from service.memories.pairs import (
    MAX_TEXT_CHARACTERS,
    MemoryMatch,
    SegmentPair,
    TextMatches,
    fit_target,
    normalise,
    source_digest,
)
from service.memories.similarity import _CHUNK_COMPARISONS, MAX_SEARCHED_CHARACTERS, SimilarityIndex
from service.memories.store import IMPORT_S, SUGGESTIONS, Memory, MemoryLimits, MemoryStore
from service.memories.tmx import TmxPairs
from service.schema.tables import MEMORIES, MEMORY_PAIRS
from tests.service.memories.conftest import DE_EN, GREETINGS, new_owner


def pairs_of(store: MemoryStore, owner: str | None, memory: Memory) -> set[tuple[str, str]]:
    return {(each.pair.source, each.pair.target) for each in store.page(owner, memory.id, 100)}


def test_a_memory_is_read_as_it_was_sent(store: MemoryStore, owner: str, memory: Memory) -> None:
    size_bytes = sum(len(pair.source) + len(pair.target) for pair in GREETINGS)
    assert str(uuid.UUID(memory.id)) == memory.id
    assert memory == Memory(
        memory.id, "greetings", DE_EN, 2, size_bytes, 1, memory.created_at, memory.updated_at
    )
    assert store.get(owner, memory.id) == memory
    assert store.list(owner) == [memory]
    assert pairs_of(store, owner, memory) == {
        ("Guten Morgen.", "Good morning."),
        ("Gute Nacht.", "Good night."),
    }


def test_a_memory_is_visible_to_its_owner_only(
    store: MemoryStore, database: Database, memory: Memory
) -> None:
    for other in (None, new_owner(database)):
        assert store.list(other) == []
        with pytest.raises(UnknownMemory):
            store.get(other, memory.id)
        with pytest.raises(UnknownMemory):
            store.page(other, memory.id, 1)
        with pytest.raises(UnknownMemory):
            store.add_pairs(other, memory.id, GREETINGS)
        with pytest.raises(UnknownMemory):
            store.delete(other, memory.id)


def test_sqlite_writes_many_pairs_in_few_statements(tmp_path: Path) -> None:
    # Other writers wait for all of them, and each, as each row of a list, waits for busy threads.
    database = Database.open(f"sqlite:///{tmp_path / 'memories.db'}")
    statements: list[tuple[str, bool]] = []

    def note(*arguments: Any) -> None:
        statements.append((arguments[2], arguments[-1]))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    pairs = [SegmentPair(f"Hund {number}", "dog") for number in range(1000)]

    stored = MemoryStore(database).add(None, "x", DE_EN, pairs)

    assert stored.num_pairs == 1000
    assert len(statements) < 25
    assert not any(is_list for _, is_list in statements)
    database.close()


def test_a_pair_replaces_one_with_an_equal_source(store: MemoryStore, owner: str, memory: Memory) -> None:
    changed = store.add_pairs(owner, memory.id, [SegmentPair(" Gute  Nacht. ", "Sleep well.")])

    assert (changed.num_pairs, changed.version) == (2, 2)
    assert pairs_of(store, owner, memory) == {
        ("Guten Morgen.", "Good morning."),
        (" Gute  Nacht. ", "Sleep well."),
    }


def test_the_last_of_equal_sources_counts(store: MemoryStore) -> None:
    pairs = [SegmentPair("a", "first"), SegmentPair("a", "last")]
    assert pairs_of(store, None, store.add(None, "x", DE_EN, pairs)) == {("a", "last")}


def test_more_pairs_than_one_statement_takes_are_stored_and_found(store: MemoryStore) -> None:
    pairs = [SegmentPair(f"Satz {i}", f"Sentence {i}") for i in range(1201)]

    memory = store.add(None, "x", DE_EN, pairs)

    assert memory.num_pairs == 1201
    found = store.find_equal(memory.id, [pair.source for pair in pairs])
    assert found == {source_digest(pair.source): pair for pair in pairs}
    assert {*store.read_pairs(memory.id)} == {*pairs}


def test_pairs_are_read_without_a_connection_that_another_thread_may_have_to_close(
    store: MemoryStore, database: Database
) -> None:
    pairs = [SegmentPair(f"Satz {i}", "x") for i in range(2 * MAX_ROWS)]
    reading = store.read_pairs(store.add(None, "x", DE_EN, pairs).id)

    for _ in range(MAX_ROWS + 1):
        next(reading)
        pool = database.engine.pool
        assert isinstance(pool, sa.QueuePool)
        assert pool.checkedout() == 0
    assert len([*reading]) == MAX_ROWS - 1


def test_pages_follow_each_other(store: MemoryStore, owner: str, memory: Memory) -> None:
    first = store.page(owner, memory.id, 1)
    second = store.page(owner, memory.id, 1, first[0].id)

    assert {first[0].pair, second[0].pair} == {*GREETINGS}
    assert store.page(owner, memory.id, 1, second[0].id) == []


def test_a_pair_is_deleted_by_its_id(store: MemoryStore, owner: str, memory: Memory) -> None:
    (first, second) = store.page(owner, memory.id, 10)

    changed = store.delete_pair(owner, memory.id, first.id)

    assert (changed.num_pairs, changed.version) == (1, 2)
    assert memory.created_at < memory.updated_at < changed.updated_at
    assert store.page(owner, memory.id, 10) == [second]
    for missing in (first.id, "zz", "f" * 31):
        with pytest.raises(UnknownPair):
            store.delete_pair(owner, memory.id, missing)


def test_a_deleted_memory_is_gone_with_its_pairs(store: MemoryStore, owner: str, memory: Memory) -> None:
    store.delete(owner, memory.id)

    assert store.list(owner) == []
    assert list(store.read_pairs(memory.id)) == []
    with pytest.raises(UnknownMemory):
        store.get(owner, memory.id)


class KilledError(BaseException):
    """In place of the end of a process."""


def total_of(store: MemoryStore, owner: str | None) -> Total:
    with store.database.reading() as connection:
        return read_total(connection, Resource.MEMORIES, owner)


@pytest.mark.parametrize("is_import", [True, False], ids=["import", "deletion"])
def test_what_a_killed_process_leaves_is_invisible_and_removed(
    store: MemoryStore, owner: str, monkeypatch: pytest.MonkeyPatch, *, is_import: bool
) -> None:
    pairs = [SegmentPair(f"Satz {i}", "x") for i in range(MAX_ROWS + 1)]

    def kill(*_: object) -> None:
        raise KilledError

    monkeypatch.setattr(Pacer, "pause", lambda _self: None)  # pairs are checked before the first part
    if is_import:
        monkeypatch.setattr(MemoryStore, "_remove", kill)
        monkeypatch.setattr(Pacer, "rest", kill)
        with pytest.raises(KilledError):
            store.add(owner, "x", DE_EN, pairs)
    else:
        memory = store.add(owner, "x", DE_EN, pairs)
        monkeypatch.setattr(Pacer, "rest", kill)
        with pytest.raises(KilledError):
            store.delete(owner, memory.id)
    monkeypatch.undo()
    assert store.list(owner) == []
    assert total_of(store, owner).num_items == 1

    store.remove_leftovers(datetime.now(UTC) + timedelta(seconds=IMPORT_S))

    assert total_of(store, owner) == Total()
    with store.database.reading() as connection:
        assert connection.execute(sa.select(MEMORY_PAIRS)).all() == []


def test_an_import_that_fails_late_leaves_nothing(store: MemoryStore, owner: str) -> None:
    pairs = [SegmentPair(f"Satz {i}", "x" * 10) for i in range(MAX_ROWS + 1)]
    size_bytes = sum(len(pair.source + pair.target) for pair in pairs)

    with pytest.raises(MemoryInvalid, match="bytes"):
        replace(store, limits=MemoryLimits(max_bytes=size_bytes - 1)).add(owner, "x", DE_EN, pairs)

    assert total_of(store, owner) == Total()
    memory = replace(store, limits=MemoryLimits(max_bytes=size_bytes)).add(owner, "x", DE_EN, pairs)
    assert total_of(store, owner) == Total(1, size_bytes)
    assert (memory.num_pairs, memory.size_bytes, memory.version) == (len(pairs), size_bytes, 1)
    assert store.list(owner) == [memory]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "pairs", "suggest", "delete_pair", "delete"]),
            st.lists(st.tuples(st.sampled_from("abcd"), st.text("xyz", min_size=1, max_size=4)), max_size=6),
        ),
        max_size=6,
    )
)
@settings(max_examples=15, deadline=None)
def test_the_counts_are_those_of_the_rows(changes: list[tuple[str, list[tuple[str, str]]]]) -> None:
    with (
        TemporaryDirectory() as folder,
        closing(Database.open(f"sqlite:///{folder}/memories.db")) as database,
    ):
        store = MemoryStore(database)
        for change, texts in changes:
            _change(store, change, [SegmentPair(*each) for each in texts])

        memories = store.list(None)
        for memory in memories:
            pairs = list(store.read_pairs(memory.id))
            size_bytes = sum(len(pair.source + pair.target) for pair in pairs)
            assert (memory.num_pairs, memory.size_bytes) == (len(pairs), size_bytes)
        assert total_of(store, None) == Total(len(memories), sum(each.size_bytes for each in memories))


def _change(store: MemoryStore, change: str, pairs: list[SegmentPair]) -> None:
    known = store.list(None)
    if change == "add" or not known:
        store.add(None, "x", DE_EN, pairs)
    elif change == "pairs":
        store.add_pairs(None, known[0].id, pairs)
    elif change == "suggest" and pairs:
        store.suggest(None, DE_EN, pairs[0])
    elif change == "delete_pair":
        for stored in store.page(None, known[0].id, 1):
            store.delete_pair(None, known[0].id, stored.id)
    elif change == "delete":
        store.delete(None, known[0].id)


@pytest.mark.parametrize(
    ("name", "pair", "pairs", "field"),
    [
        (" ", DE_EN, [], "name"),
        ("a\0", DE_EN, [], "name"),
        ("ä" * 513, DE_EN, [], "name"),
        ("x", Pair("d e", "en"), [], "source"),
        ("x", Pair("de", ""), [], "target"),
        ("x", DE_EN, [GREETINGS[0], SegmentPair(" ", "b")], "pairs[1].source"),
        ("x", DE_EN, [SegmentPair("a", "b\0")], "pairs[0].target"),
        ("x", DE_EN, [SegmentPair("a" * (MAX_TEXT_CHARACTERS + 1), "b")], "pairs[0].source"),
        ("x", DE_EN, [SegmentPair("a", "\ud800")], "pairs[0].target"),
    ],
)
def test_an_unstorable_memory_is_rejected_by_its_field(
    store: MemoryStore, name: str, pair: Pair, pairs: list[SegmentPair], field: str
) -> None:
    with pytest.raises(MemoryInvalid) as caught:
        store.add(None, name, pair, pairs)

    assert caught.value.field == field
    assert store.list(None) == []


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (MemoryLimits(max_pairs=2), "3 pairs; the limit is 2"),
        (MemoryLimits(max_bytes=49), "the limit of 49 bytes"),
    ],
)
def test_a_change_beyond_a_limit_changes_nothing(
    store: MemoryStore, owner: str, memory: Memory, limits: MemoryLimits, problem: str
) -> None:
    with pytest.raises(MemoryInvalid, match=problem):
        replace(store, limits=limits).add_pairs(owner, memory.id, [SegmentPair("c", "d")])

    assert store.get(owner, memory.id) == memory


def test_too_many_pairs_are_rejected_before_the_rest_is_read(store: MemoryStore) -> None:
    def pairs() -> object:
        yield from (SegmentPair(str(i), "x") for i in range(3))
        raise AssertionError("read on")

    with pytest.raises(MemoryInvalid, match="more than 2 pairs"):
        replace(store, limits=MemoryLimits(max_pairs=2)).add(None, "x", DE_EN, pairs())  # type: ignore[arg-type]


def test_the_number_of_memories_is_limited_per_owner(store: MemoryStore, owner: str, memory: Memory) -> None:
    small = replace(store, limits=MemoryLimits(max_memories=1))
    with pytest.raises(TooManyMemories, match="limit of 1"):
        small.add(owner, "second", DE_EN, [])

    assert small.add(None, "first of another", DE_EN, []).num_pairs == 0
    assert store.list(owner) == [memory]


def test_suggestions_of_a_pair_share_a_memory(store: MemoryStore, owner: str) -> None:
    first = store.suggest(owner, DE_EN, SegmentPair("a", "A"))
    second = store.suggest(owner, DE_EN, SegmentPair("b", "B"))
    other = store.suggest(owner, Pair("en", "de"), SegmentPair("A", "a"))
    strangers = store.suggest(None, DE_EN, SegmentPair("c", "C"))

    assert (first.name, second.id, second.num_pairs) == (SUGGESTIONS, first.id, 2)
    assert len({first.id, other.id, strangers.id}) == 3


SENTENCE = "Der Hund rennt über die grüne Wiese."


@pytest.mark.parametrize(
    ("one", "other"), [("Gute Nacht.", "  Gute\n\tNacht. "), ("\u00e4", "a\u0308"), ("a\u00a0b", "a b")]
)
def test_texts_are_equal_up_to_white_space_and_unicode_form(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert source_digest(one) == source_digest(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Seite 3", "Seite 4"), ("Hallo {name}", "Hallo {user}"), ("ja", "Ja"), ("ja", "ja!")]
)
def test_other_texts_are_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)
    assert source_digest(one) != source_digest(other)


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


def test_a_search_ends_soon_after_it_is_cancelled(store: MemoryStore, memory: Memory) -> None:
    texts = [f"{SENTENCE} {'x' * i}" for i in range(100)]
    store.add_pairs(memory_owner(store, memory), memory.id, [SegmentPair(text + "!", "x") for text in texts])
    looks = iter([False] * 150 + [True])

    with pytest.raises(TranslationCancelled):
        MemoryService(store).find_matches(memory, texts, 3, lambda: next(looks))

    assert next(looks, None) is None


def memory_owner(store: MemoryStore, memory: Memory) -> str | None:
    with store.database.reading() as connection:
        return connection.execute(sa.select(MEMORIES.c.key_id).where(MEMORIES.c.id == memory.id)).scalar()


def test_a_search_that_needs_too_many_comparisons_is_rejected(
    store: MemoryStore, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_service, "MAX_COMPARISONS", 13 * 13 + 12 * 13 + 13 * 11)
    service = MemoryService(store)

    assert service.find_matches(memory, ["Guten Abend."], 3)[0].similar == ()
    with pytest.raises(MemoryInvalid, match="comparisons of characters with the pairs") as caught:
        service.find_matches(memory, ["Guten Abend."] * 2, 3)
    assert caught.value.field == "memory_matches"


@given(st.lists(st.integers(1, MAX_SEARCHED_CHARACTERS), min_size=1, max_size=300), st.data())
@settings(max_examples=30, deadline=None)
def test_between_two_pauses_few_characters_are_compared(lengths: list[int], data: st.DataObject) -> None:
    index = SimilarityIndex(SegmentPair("a" * length, "x") for length in lengths)
    length = data.draw(st.sampled_from(lengths))

    chunks = [sum(map(len, sources)) * length for sources, _ in index._chunks(length)]

    assert max(chunks) <= max(_CHUNK_COMPARISONS, (length / 0.7) * length)
    assert sum(chunks) == index.num_comparisons("a" * length)


def test_cached_indexes_are_bounded_in_bytes(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = [store.add(None, f"{n}", DE_EN, [SegmentPair(SENTENCE, "x" * 1000)]) for n in range(4)]
    service = MemoryService(store)
    for memory in memories:
        service.find_matches(memory, ["Nein."], 3)
    [size_bytes] = {index.size_bytes for index in service._indexes._values.values()}
    assert len(service._indexes) == len(memories)
    monkeypatch.setattr(service._indexes, "_max_weight", 2 * size_bytes)

    service.find_matches(store.add_pairs(None, memories[0].id, [SegmentPair("a", "b")]), ["Nein."], 3)

    assert list(service._indexes._values) == [(memories[0].id, 2)]


@pytest.mark.parametrize("text", ["a", "ä", "\u6c34", "a  "])
def test_the_size_of_an_index_is_that_of_its_memory(text: str) -> None:
    tracemalloc.start()
    index = SimilarityIndex(SegmentPair(f"{n} {text * 100}b", f"{n} {text * 50}") for n in range(2000))
    taken_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 0.7 * index.size_bytes <= taken_bytes <= 1.1 * index.size_bytes


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
