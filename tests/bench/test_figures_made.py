"""Sums, shares and tables, from results made by hand."""

from typing import Any

import pytest

from bench.limits import forced_work, shares
from bench.offline import Setting, check_weights, summarise
from bench.profile import sum_times
from bench.workloads import Workload

SHAPE = {"d_model": 2, "ffn": 4, "encoder_layers": 1, "decoder_layers": 1, "target_vocab_size": 10}


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


def test_the_least_work_of_a_sentence_is_counted_by_hand() -> None:
    # Encoder 4 x 4 + 2 x 8 = 32 weights, cross K/V 8; a step 6 x 4 + 2 x 8 and 2 x 10 for the logits = 60.
    operations, weight_bytes = forced_work(SHAPE, source_tokens=3, batch=2, beam_size=4)

    assert operations == 2 * (40 * 3 + 60 * 30 * 4)
    assert weight_bytes == (40 + 60 * 30) / 2


def test_a_share_is_the_time_at_the_limit_over_the_time_measured() -> None:
    row = {"workers": 1, "batch": 1, "beam_size": 1, "engine": "x", "sentences": 2, "source_tokens": 6}
    row["ms_per_sentence"] = {"median": 2.0}
    operations, weight_bytes = forced_work(SHAPE, 3, 1, 1)

    (found,) = shares([row], SHAPE, gops_per_s=operations / 1e6, gb_per_s=weight_bytes / 0.5e6)

    assert found["arithmetic_share"] == pytest.approx(0.5)
    assert found["memory_share"] == pytest.approx(0.25)


def test_times_are_summed_by_group_and_the_encoder_is_one() -> None:
    times_s = {("encoder", "linear"): 1.0, ("encoder", "self_attention"): 2.0, ("decoder", "linear"): 4.0}
    times_s |= {("decoder", "linear_add"): 8.0, ("decoder", "norm"): 16.0, ("decoder", "score"): 32.0}

    assert sum_times(times_s) == {"encoder": 3.0, "products": 12.0, "rest": 16.0, "scores": 32.0}
