"""Real bundles behind the router give what they give one after the other; places through two bundles."""

import gc
import itertools
import json
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import DecodingOptions, Translator
from dragoman.bundle import file_sha256
from dragoman.pipeline.assembly import SegmentOutput, TextAssembly
from dragoman.routing.alignment_join import join_alignments
from dragoman.routing.options import RouterOptions
from dragoman.routing.results import source_of_next_step
from dragoman.routing.router import Router
from dragoman.text.segmentation import SegmentedText, segment
from dragoman.types import FinishReason, Hypothesis, Link, Pair, SegmentTranslation, Span, Token, Translation
from tests.engine.routing.conftest import TINY_BUNDLE
from tests.engine.routing.doubles import TIMEOUT_S

TEXTS = [
    "Der Hund ist klein.",
    "Das Kind spielt im Garten.\n\nDer Hund ist klein. Ja.",
    "",
    "123",
    "\n Ein Hund \n",
]


@pytest.fixture(scope="module")
def router(tiny_models: Path) -> Iterator[Router]:
    with Router.open(tiny_models) as router:
        yield router


@pytest.fixture(scope="module")
def tiny(tiny_models: Path) -> Iterator[dict[str, Translator]]:
    """The same bundles, each alone."""
    with Translator.open(tiny_models / "de-en") as first, Translator.open(tiny_models / "en-fr") as second:
        yield {"de-en": first, "en-fr": second}


def test_a_pivot_gives_what_both_give_one_after_the_other(
    router: Router, tiny: dict[str, Translator]
) -> None:
    many = list(router.translate_many(TEXTS, "de", "fr"))

    for text, listed in zip(TEXTS, many, strict=True):
        routed = router.translate(text, "de", "fr")
        first = tiny["de-en"].translate(text)
        second = tiny["en-fr"].translate(first.text, pair=Pair("en", "fr"))
        assert routed.translation.text == second.text
        assert [step.score for step in routed.steps] == [first.score, second.score]
        assert first.score is not None
        assert second.score is not None
        assert routed.translation.score == second.score + first.score
        assert routed.translation.text.count("\n") == text.count("\n")
        assert listed == routed


def test_unknown_words_are_those_of_the_first_model_whether_it_is_open_or_not(
    tiny_models: Path, tiny: dict[str, Translator]
) -> None:
    text = "Der Hund heißt Шарик."
    with Router.open(tiny_models) as router:
        route = router.route("de", "fr")
        before = router.unknown_spans(route, text)
        router.preload(["de-en"])

        assert [text[start:end] for start, end in before] == ["Шарик"]
        assert router.unknown_spans(route, text) == before == tiny["de-en"].unknown_spans(text)


def test_a_reload_keeps_a_bundle_whose_new_tokenizer_cannot_be_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    shutil.copytree(TINY_BUNDLE, folder)
    with Router.open(tmp_path) as router:
        before = router.translate(TEXTS[0], "de", "en").translation.text
        tokenizer, manifest = folder / "source.spm", folder / "manifest.json"
        content = json.loads(manifest.read_bytes())
        model = tokenizer.read_bytes()
        at = model.index(b"en", 100)
        tokenizer.write_bytes(model[:at] + b"\xff\xff" + model[at + 2 :])
        content["files"]["source.spm"]["sha256"] = file_sha256(tokenizer)
        manifest.write_text(json.dumps(content))

        report = router.reload()

        assert report.is_empty
        assert "source.spm is not a SentencePiece model" in report.problems["tiny"][0]
        assert router.translate(TEXTS[0], "de", "en").translation.text == before


def test_a_closed_bundle_leaves_the_memory(tiny_models: Path) -> None:
    """By itself, though a caller holds futures: not only when Python happens to look for what is unused."""
    opened: list[weakref.ref[Translator]] = []

    def open_watched(path: Path) -> Translator:
        translator = Translator.open(path, replicas=1)
        opened.append(weakref.ref(translator))
        return translator

    folders = {"de-en": tiny_models / "de-en", "en-fr": tiny_models / "en-fr"}
    options = RouterOptions(budget_bytes=1)
    gc.disable()
    try:
        with Router(lambda: folders, open_watched, lambda _: 1, options) as router:
            kept = router.submit(TEXTS[0], "de", "fr")
            kept.result(TIMEOUT_S)
            assert opened[0]() is None
    finally:
        gc.enable()


def test_a_translated_text_leaves_nothing_to_the_collector_of_cycles(router: Router) -> None:
    def translate() -> None:
        router.submit("Das Kind spielt. Der Hund schläft.", "de", "en").result(TIMEOUT_S)

    translate()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        translate()
        gc.collect()
        left = {type(found).__qualname__ for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()

    assert not left & {"Future", "SegmentRequest", "PivotTranslation", "PendingTexts", "RoutedTranslation"}


WORDS = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=12)


def translated(source: str, target: str, cuts: list[tuple[Span, Span]], links: list[Link]) -> Translation:
    """A translation whose segments stand at these places of source and target."""
    segments = tuple(
        SegmentTranslation(
            source=source[slice(*source_span)],
            text=target[slice(*span)],
            score=-0.5,
            finish_reason=FinishReason.STOP,
            num_source_tokens=2,
            num_target_tokens=3,
            source_span=source_span,
            span=span,
            links=tuple(link for link in links if span.start <= link.target.start < span.end),
            tokens=(Token(target[slice(*span)], -0.5),),
        )
        for source_span, span in cuts
    )
    return Translation(target, -0.5, FinishReason.STOP, segments, ())


def by_words(words: list[str], double: int) -> tuple[str, list[Span]]:
    """Words with a space between, each said several times over, and where they stand."""
    spans, at = [], 0
    for word in words:
        spans.append(Span(at, at + double * len(word)))
        at = spans[-1].end + 1
    return " ".join(word * double for word in words), spans


def cut(spans: list[Span], at: set[int]) -> list[Span]:
    """Whole words from one cut to the next."""
    bounds = [0, *sorted(index for index in at if 0 < index < len(spans)), len(spans)]
    return [Span(spans[start].start, spans[end - 1].end) for start, end in itertools.pairwise(bounds)]


@given(words=WORDS, first_cuts=st.sets(st.integers(1, 11)), second_cuts=st.sets(st.integers(1, 11)))
def test_however_both_steps_cut_words_go_with_their_own(
    words: list[str], first_cuts: set[int], second_cuts: set[int]
) -> None:
    """The pivot says every word twice over, the target three times, so every place differs."""
    (text, sources), (pivot, pivots), (target, targets) = (by_words(words, count) for count in (1, 2, 3))
    first, second = (
        translated(
            *texts,
            list(zip(cut(before, cuts), cut(after, cuts), strict=True)),
            [Link(*spans) for spans in zip(before, after, strict=True)],
        )
        for texts, before, after, cuts in (
            ((text, pivot), sources, pivots, first_cuts),
            ((pivot, target), pivots, targets, second_cuts),
        )
    )

    joined = join_alignments(text, first, second)

    assert [segment.source for segment in joined] == [
        text[slice(*span)] for span in cut(sources, first_cuts & second_cuts)
    ]
    assert [segment.text for segment in joined] == [
        target[slice(*span)] for span in cut(targets, first_cuts & second_cuts)
    ]
    for each in joined:
        assert text[slice(*each.source_span)] == each.source
        assert target[slice(*each.span)] == each.text
        assert each.score == pytest.approx(-1.0)
    links = [link for segment in joined for link in segment.links or ()]
    assert links == [Link(*spans) for spans in zip(sources, targets, strict=True)]
    assert sum(segment.num_source_tokens for segment in joined) == 2 * len(first.segments)
    assert sum(segment.num_target_tokens for segment in joined) == 3 * len(second.segments)


def test_a_segment_that_came_to_nothing_belongs_to_its_neighbour() -> None:
    spans = [(Span(0, 2), Span(0, 2)), (Span(3, 5), Span(3, 3)), (Span(6, 8), Span(4, 6))]
    first = translated("ab cd ef", "AB  EF", spans, [])
    second = translated("AB  EF", "xx  yy", [(Span(0, 2), Span(0, 2)), (Span(4, 6), Span(4, 6))], [])

    joined = join_alignments("ab cd ef", first, second)

    assert [(segment.source, segment.text) for segment in joined] == [("ab cd", "xx"), ("ef", "yy")]


@pytest.mark.parametrize(
    ("changes", "joined"),
    [
        ({"links": None, "score": None}, (None, None, FinishReason.STOP)),
        ({"finish_reason": FinishReason.LENGTH}, ((), -1.0, FinishReason.LENGTH)),
    ],
    ids=["what a step was not asked for is not there", "a limit that cut a step is told"],
)
def test_links_score_and_finish_reason_of_both_steps_are_joined(
    changes: dict[str, Any], joined: tuple[object, ...]
) -> None:
    first, second = (translated("ab", "ab", [(Span(0, 2), Span(0, 2))], []) for _ in range(2))
    changed = first._replace(segments=tuple(each._replace(**changes) for each in first.segments))

    (found,) = join_alignments("ab", changed, second)

    assert (found.links, found.score, found.finish_reason) == joined


def test_a_text_without_segments_has_none() -> None:
    assert join_alignments(" ", translated(" ", " ", [], []), translated(" ", " ", [], [])) == ()


BREAKS = "\t\n\r\x0b\x0c\x85\u2028\u2029"
gaps = st.text(" \n\t\u2028", max_size=3)
targets = st.text("ab. " + BREAKS, min_size=1, max_size=5).filter(lambda text: bool(text.strip()))


def translation(texts: list[str], between: list[str]) -> Translation:
    document = SegmentedText(tuple(texts), tuple(between))
    assembly = TextAssembly(document, DecodingOptions().resolve(4, 1.0, early_stopping=False))
    for text in texts:
        found = Hypothesis((3,), -1.0, 2, -0.5, FinishReason.STOP)
        assembly.add(SegmentOutput("x", 1, (found,), (text,)))
    return assembly.finish()


@given(data=st.data(), count=st.integers(0, 4))
def test_line_breaks_that_a_model_made_become_spaces_and_those_of_the_text_stay(
    data: st.DataObject, count: int
) -> None:
    texts = data.draw(st.lists(targets.map(str.strip).filter(bool), min_size=count, max_size=count))
    between = data.draw(st.lists(gaps, min_size=count + 1, max_size=count + 1))
    plain = ["".join(" " if char in BREAKS else char for char in text) for text in texts]

    assert source_of_next_step(translation(texts, between)) == translation(plain, between).text


def test_a_line_breaks_where_the_next_step_would_cut() -> None:
    for mark in BREAKS:
        assert len(segment(f"a{mark}b", "en").segments) == 2
        assert source_of_next_step(translation([f"a{mark}b"], ["", "\n"])) == "a b\n"
