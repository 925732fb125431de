"""Options out of range are refused by name; a model's defaults fill in what was not wished for."""

import math
from dataclasses import fields
from typing import Any

import pytest

from dragoman.decoding.options import MAX_PREFIX_CHARACTERS, DecodingOptions, Sampling, SearchOptions
from dragoman.errors import InputError
from dragoman.types import Method, SearchKind, Splitting


@pytest.mark.parametrize(
    ("options", "field", "limit"),
    [
        ({"beam_size": 0}, "beam_size", "between 1 and 32"),
        ({"beam_size": 33}, "beam_size", "between 1 and 32"),
        ({"num_hypotheses": 0}, "num_hypotheses", "between 1 and 32"),
        ({"num_hypotheses": 33}, "num_hypotheses", "between 1 and 32"),
        ({"beam_size": 2, "num_hypotheses": 3}, "num_hypotheses", "more than beam_size 2"),
        ({"max_length": 0}, "max_length", "at least 1"),
        ({"min_length": -1}, "min_length", "at least 0"),
        ({"min_length": 6, "max_length": 5}, "min_length", "more than max_length 5"),
        ({"length_penalty": -0.1}, "length_penalty", "between 0 and 10"),
        ({"length_penalty": 10.1}, "length_penalty", "between 0 and 10"),
        ({"length_penalty": math.nan}, "length_penalty", "between 0 and 10"),
        ({"repetition_penalty": 0.9}, "repetition_penalty", "between 1 and 10"),
        ({"repetition_penalty": 10.5}, "repetition_penalty", "between 1 and 10"),
        ({"repetition_penalty": math.nan}, "repetition_penalty", "between 1 and 10"),
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size", "between 0 and 32"),
        ({"no_repeat_ngram_size": 33}, "no_repeat_ngram_size", "between 0 and 32"),
        ({"num_hypotheses": 33, "sampling": Sampling()}, "num_hypotheses", "between 1 and 32"),
    ],
)
def test_an_option_out_of_range_is_refused_with_its_name_and_range(
    options: dict[str, Any], field: str, limit: str
) -> None:
    with pytest.raises(InputError) as raised:
        DecodingOptions(**options)

    assert raised.value.field == field
    assert str(options[field]) in raised.value.problem
    assert limit in raised.value.problem


@pytest.mark.parametrize(
    ("settings", "field", "limit"),
    [
        ({"top_k": -1}, "top_k", "at least 0"),
        ({"top_p": 0.0}, "top_p", "above 0 and at most 1"),
        ({"top_p": 1.1}, "top_p", "above 0 and at most 1"),
        ({"top_p": math.nan}, "top_p", "above 0 and at most 1"),
        ({"temperature": 0.0}, "temperature", "above 0 and at most 10"),
        ({"temperature": 10.5}, "temperature", "above 0 and at most 10"),
        ({"temperature": math.nan}, "temperature", "above 0 and at most 10"),
        ({"seed": -1}, "seed", f"between 0 and {2**63 - 1}"),
        ({"seed": 2**63}, "seed", f"between 0 and {2**63 - 1}"),
    ],
)
def test_a_way_to_draw_that_is_out_of_range_is_refused_with_its_name_and_range(
    settings: dict[str, Any], field: str, limit: str
) -> None:
    with pytest.raises(InputError) as raised:
        Sampling(**settings)

    assert raised.value.field == field
    assert str(settings[field]) in raised.value.problem
    assert limit in raised.value.problem


def test_the_ends_of_every_range_of_drawing_are_accepted() -> None:
    assert Sampling(0, 1e-9, 1e-9, 0) != Sampling(10**9, 1.0, 10.0, 2**63 - 1)


def test_sampling_leaves_no_room_for_a_beam() -> None:
    with pytest.raises(InputError, match="cannot be combined with beam_size 2") as raised:
        DecodingOptions(beam_size=2, sampling=Sampling())

    assert raised.value.field == "sampling"


def test_sampling_has_no_beam_of_the_models_and_as_many_draws_as_are_wanted() -> None:
    resolved = DecodingOptions(num_hypotheses=32, sampling=Sampling()).resolve(6, 1.0, early_stopping=False)

    assert (resolved.beam_size, resolved.num_hypotheses) == (1, 32)


@pytest.mark.parametrize("has_shortlist", [False, True])
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (DecodingOptions(repetition_penalty=1.1), SearchKind(4, method=Method.FILTERED)),
        (DecodingOptions(no_repeat_ngram_size=3), SearchKind(4, method=Method.FILTERED)),
        (DecodingOptions(sampling=Sampling(), num_hypotheses=3), SearchKind(3, method=Method.SAMPLE)),
        (DecodingOptions(sampling=Sampling(), repetition_penalty=2.0), SearchKind(1, method=Method.SAMPLE)),
        (DecodingOptions(use_shortlist=False), SearchKind(4)),
    ],
)
def test_what_a_shortlist_may_not_have_is_looked_for_without_one(
    options: DecodingOptions,
    kind: SearchKind,
    has_shortlist: bool,  # noqa: FBT001 -- a case, by name
) -> None:
    assert options.resolve(4, 1.0, early_stopping=False).kind(has_shortlist) == kind


@pytest.mark.parametrize("has_shortlist", [False, True])
def test_a_plain_search_takes_the_shortlist_that_there_is(
    has_shortlist: bool,  # noqa: FBT001 -- a case, by name
) -> None:
    resolved = DecodingOptions().resolve(4, 1.0, early_stopping=False)

    assert resolved.kind(has_shortlist) == SearchKind(4, has_shortlist)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam_size": 1},
        {"beam_size": 32, "num_hypotheses": 32},
        {"num_hypotheses": 32},
        {"min_length": 5, "max_length": 5},
        {"length_penalty": 0.0},
        {"length_penalty": 10.0},
        {"early_stopping": False},
        {"repetition_penalty": 10.0, "no_repeat_ngram_size": 32},
        {"sampling": Sampling(), "num_hypotheses": 32, "beam_size": 1},
    ],
)
def test_the_ends_of_every_range_are_accepted(options: dict[str, Any]) -> None:
    accepted = DecodingOptions(**options)

    assert all(getattr(accepted, field) == value for field, value in options.items())


def test_what_was_not_wished_for_is_the_models_default() -> None:
    resolved = DecodingOptions().resolve(6, 0.6, early_stopping=True)

    assert (resolved.beam_size, resolved.length_penalty, resolved.early_stopping) == (6, 0.6, True)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_wish_goes_before_the_models_default(early_stopping: bool) -> None:  # noqa: FBT001 -- a case, by name
    options = DecodingOptions(beam_size=1, length_penalty=0.0, early_stopping=early_stopping)

    resolved = options.resolve(6, 0.6, early_stopping=not early_stopping)

    assert (resolved.beam_size, resolved.length_penalty) == (1, 0.0)
    assert resolved.early_stopping is early_stopping


def test_all_other_wishes_are_handed_on_as_they_are() -> None:
    options = DecodingOptions(
        num_hypotheses=3,
        max_length=90,
        min_length=2,
        return_scores=False,
        use_shortlist=False,
        repetition_penalty=1.5,
        no_repeat_ngram_size=2,
        sampling=Sampling(seed=4),
        target_prefix="Ja,",
        splitting=Splitting.OFF,
        return_alignment=True,
        return_tokens=True,
    )

    resolved = options.resolve(4, 1.0, early_stopping=False)

    names = {field.name for field in fields(DecodingOptions)}
    assert names == {field.name for field in fields(SearchOptions)}
    for name in names - {"beam_size", "length_penalty", "early_stopping"}:
        assert getattr(resolved, name) == getattr(options, name) != getattr(DecodingOptions(), name)


def test_more_hypotheses_than_the_models_own_beam_holds_are_refused() -> None:
    options = DecodingOptions(num_hypotheses=5)

    with pytest.raises(InputError, match="more than beam_size 4") as raised:
        options.resolve(4, 1.0, early_stopping=False)

    assert raised.value.field == "num_hypotheses"
    assert options.resolve(5, 1.0, early_stopping=False).num_hypotheses == 5


@pytest.mark.parametrize(
    ("beam_size", "length_penalty", "field"),
    [(33, 1.0, "beam_size"), (0, 1.0, "beam_size"), (4, 11.0, "length_penalty"), (4, -1.0, "length_penalty")],
)
def test_defaults_out_of_range_are_refused_as_wishes_are(
    beam_size: int, length_penalty: float, field: str
) -> None:
    with pytest.raises(InputError) as raised:
        DecodingOptions().resolve(beam_size, length_penalty, early_stopping=False)

    assert raised.value.field == field


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [
        ("x" * (MAX_PREFIX_CHARACTERS + 1), "2001 characters are over the limit of 2000"),
        ("Ja,\n", r"control character U\+000A at character 3"),
        ("\x00", r"control character U\+0000 at character 0"),
        ("a\u2028b", r"control character U\+2028"),
    ],
)
def test_a_prefix_is_part_of_a_line_and_not_long(prefix: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        DecodingOptions(target_prefix=prefix)

    assert caught.value.field == "target_prefix"


def test_a_prefix_may_be_as_long_as_the_limit() -> None:
    assert DecodingOptions(target_prefix="x" * MAX_PREFIX_CHARACTERS).target_prefix
