"""A queue in front of a translate function."""

import threading

import pytest

from bench.static_batches import StaticBatches


def test_what_waits_together_runs_together_and_each_gets_its_own_answer() -> None:
    seen: list[list[str]] = []
    go = threading.Event()

    def translate(texts: list[str]) -> list[str]:
        seen.append(texts)
        go.wait()
        return [text.upper() for text in texts]

    batches = StaticBatches([translate], max_texts=3, wait_s=0.0)
    first = batches.submit("first")
    while not seen:
        pass
    rest = [batches.submit(text) for text in "abcd"]
    go.set()
    batches.close()

    assert first.result() == "FIRST"
    assert [future.result() for future in rest] == ["A", "B", "C", "D"]
    assert seen == [["first"], ["a", "b", "c"], ["d"]]


def test_an_error_of_the_engine_reaches_everyone_in_the_batch_and_no_other() -> None:
    def translate(texts: list[str]) -> list[str | Exception]:
        if "bad" in texts:
            raise ValueError("bad")
        return [KeyError(text) if text == "odd" else text for text in texts]

    batches = StaticBatches([translate], max_texts=1, wait_s=0.0)
    bad, odd, good = (batches.submit(text) for text in ("bad", "odd", "good"))
    batches.close()

    with pytest.raises(ValueError, match="bad"):
        bad.result()
    with pytest.raises(KeyError, match="odd"):
        odd.result()
    assert good.result() == "good"
