"""What comes of a text that went through two bundles."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman import DecodingOptions
from dragoman.pipeline.assembly import SegmentOutput, rejoin
from dragoman.routing.results import source_of_next_step
from dragoman.text.segmentation import SegmentedText, segment
from dragoman.types import FinishReason, Hypothesis, Translation

BREAKS = "\t\n\r\x0b\x0c\x85\u2028\u2029"
gaps = st.text(" \n\t\u2028", max_size=3)
targets = st.text("ab. " + BREAKS, min_size=1, max_size=5).filter(lambda text: bool(text.strip()))


def translation(texts: list[str], between: list[str]) -> Translation:
    document = SegmentedText(tuple(texts), tuple(between))
    pieces = [
        SegmentOutput("x", 1, (Hypothesis((3,), -1.0, 2, -0.5, FinishReason.STOP),), (text,))
        for text in texts
    ]
    return rejoin(document, pieces, DecodingOptions().resolve(4, 1.0, early_stopping=False))


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
