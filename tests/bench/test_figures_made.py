"""Sums, shares and tables, from results made by hand."""

from typing import Any

import pytest

from bench.offline import Setting, check_weights, summarise
from bench.workloads import Workload


def rows() -> list[dict[str, Any]]:
    """Two rounds: the reference took 4 and 2 seconds for two sentences, we 2 and 2."""
    setting = Setting(workers=1, batch=1, beam_size=1)
    ours, reference = [(2.0, 10), (2.0, 10)], [(4.0, 8), (2.0, 8)]
    measured = {(setting, "Dragoman int8"): ours, (setting, "CTranslate2 int8"): reference}
    return summarise(measured, Workload([[5, 3], [5, 6, 3]]), least_sentences=2)


def test_a_row_gives_time_a_sentence_tokens_a_second_and_speed_beside_the_reference() -> None:
    ours, reference = rows()

    assert ours["ms_per_sentence"] == {"median": 1000.0, "least": 1000.0, "most": 1000.0}
    assert ours["target_tokens_per_s"]["median"] == 5.0
    assert ours["speed"] == {"median": 1.5, "least": 1.0, "most": 2.0}
    assert reference["speed"] == {"median": 1.0, "least": 1.0, "most": 1.0}
    assert (ours["sentences"], ours["source_tokens"]) == (2, 5)


def test_an_fp32_engine_with_other_greedy_outputs_has_other_weights_and_is_not_timed() -> None:
    good = [{"engine": "CTranslate2 fp32", "beam_size": 1, "equal_to_fp32": 0.95}]
    others = [{"engine": "CTranslate2 fp32", "beam_size": 4, "equal_to_fp32": 0.5}]
    others += [{"engine": "CTranslate2 int8", "beam_size": 1, "equal_to_fp32": 0.5}]
    check_weights([*good, *others])

    with pytest.raises(SystemExit, match="CTranslate2 fp32: 94%"):
        check_weights([{**good[0], "equal_to_fp32": 0.94}])
