"""Who prepares a large text lets others have the interpreter."""

import time

import pytest

from dragoman import DecodingOptions, EngineRequest, Translator
from dragoman.pipeline import pacing
from dragoman.pipeline.pacing import PAUSE_PER_WORK, WORK_S, Pacer

GREEDY = DecodingOptions(beam_size=1)
LINES = "Ja.\n" * (pacing.LARGE_CHARACTERS // 4)


def test_a_pause_is_as_long_as_the_work_of_the_thread_itself_requires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worked_s, pauses_s = 0.0, list[float]()
    monkeypatch.setattr(time, "thread_time", lambda: worked_s)
    monkeypatch.setattr(time, "sleep", pauses_s.append)
    pacer = Pacer()

    for work_s in (WORK_S / 2, WORK_S / 2, WORK_S / 2, 10 * WORK_S):
        worked_s += work_s
        pacer.pause()

    assert pauses_s == pytest.approx([PAUSE_PER_WORK * WORK_S, PAUSE_PER_WORK * 10.5 * WORK_S])


@pytest.mark.parametrize(("text", "is_paced"), [(LINES, True), (LINES[:-4], False)])
def test_only_large_texts_are_prepared_at_a_pace(
    tiny: Translator, monkeypatch: pytest.MonkeyPatch, text: str, *, is_paced: bool
) -> None:
    monkeypatch.setattr(pacing, "WORK_S", 0.0)
    pauses_s = list[float]()
    monkeypatch.setattr(time, "sleep", pauses_s.append)

    tiny.submit(text, EngineRequest(GREEDY)).result()

    assert bool(pauses_s) is is_paced
