"""The lists are well formed, and what they ask for can be had."""

from collections import Counter
from pathlib import Path

import pytest

from bench.robustness.faults import invented
from bench.robustness.inputs import FOLDER, TARGETS, RequiredItem, Rule, read_inputs
from bench.robustness.required_items import places
from bench.robustness.verdicts import judge
from dragoman import Pair

LISTS = {language: read_inputs(language) for language in TARGETS}
EVERY = [(Pair(source, TARGETS[source]), given) for source, inputs in LISTS.items() for given in inputs]
KINDS = frozenset(
    """
    lower upper emphasis no-stop word headline number date time unit price e-mail url placeholder tag entity
    path code version quotes emoji spaces punctuation brackets list salutation label name hashtag short
    long-word long target-language third-language scripts same-word typo umlauts
    """.split()  # noqa: SIM905 -- a list of 38 strings is no easier to read
)
HEAD = "id\tkind\tinput\torder\texpected\tgood\tremark"
PLACEHOLDERS = ("{name}", "{{user}}", "%s", "%1$d", "%(count)d", "${path}", '<x id="1"/>', "</b>", "&amp;")


@pytest.mark.parametrize("source", sorted(LISTS))
def test_a_list_has_120_inputs_of_every_kind(source: str) -> None:
    assert len(LISTS[source]) >= 120
    assert {given.kind for given in LISTS[source]} == KINDS


def test_ids_and_inputs_are_unique() -> None:
    ids = Counter(given.id for _, given in EVERY)
    texts = Counter((pair.source, given.text) for pair, given in EVERY)

    assert [name for name, times in ids.items() if times > 1] == []
    assert [text for text, times in texts.items() if times > 1] == []


@pytest.mark.parametrize("source", sorted(LISTS))
def test_every_form_of_placeholder_is_required(source: str) -> None:
    requested = {form for given in LISTS[source] for wanted in given.kept for form in wanted.forms}

    assert [form for form in PLACEHOLDERS if form not in requested] == []


@pytest.mark.parametrize("source", sorted(LISTS))
def test_long_inputs_have_60_words_and_one_is_a_word_20_times(source: str) -> None:
    by_kind = {kind: [one.text for one in LISTS[source] if one.kind == kind] for kind in KINDS}

    assert all(len(text.split()) >= 60 for text in by_kind["long"])
    assert all(len(text.split()) == 20 and len(set(text.split())) == 1 for text in by_kind["same-word"])
    assert all(" " not in text and len(text) >= 20 for text in by_kind["long-word"])
    assert all(text == text.lower() for text in by_kind["lower"])
    assert all(text == text.upper() for text in by_kind["upper"])
    assert all(any(len(word) > 1 and word.isupper() for word in text.split()) for text in by_kind["emphasis"])


def test_items_to_keep_are_in_the_input_equally_often() -> None:
    wrong = [
        (given.id, str(wanted), times, found)
        for pair, given in EVERY
        for wanted, times in Counter(given.kept).items()
        if times != (found := len(places(wanted, given.text, pair.source, pair.source)))
    ]

    assert wrong == []


def test_no_input_passes_with_an_empty_translation() -> None:
    verdicts = [judge(given, "", pair) for pair, given in EVERY]

    assert [verdict.given.id for verdict in verdicts if not (verdict.lost or verdict.unsaid)] == []
    assert [verdict.given.id for verdict in verdicts if not verdict.is_empty] == []


def test_a_persons_translation_is_without_fault() -> None:
    verdicts = [judge(given, given.good, pair) for pair, given in EVERY]

    assert [verdict for verdict in verdicts if not verdict.is_good] == []


def test_a_persons_translation_and_one_sentence_more_is_invented() -> None:
    """Where no clause of the input could have become that sentence."""
    single = [
        (pair, given) for pair, given in EVERY if not any(sign in given.text for sign in ",;:-\N{EN DASH}")
    ]
    more = [(given, f"{given.good}\nAnd so it was.") for _, given in single]

    assert len(more) > 100
    assert [given.id for given, output in more if invented(given.text, output) is None] == []


def test_the_input_itself_is_no_translation_of_it() -> None:
    """But where a translator might leave it as it is."""
    may_stay = {"target-language", "third-language", "short", "label", "same-word", "long-word"}
    others = [(pair, given) for pair, given in EVERY if given.kind not in may_stay]
    verdicts = [judge(given, given.text, pair) for pair, given in others]

    assert [verdict.given.id for verdict in verdicts if verdict.is_good] == []


def test_a_line_is_read_with_its_escapes_and_its_things(tmp_path: Path) -> None:
    line = 'x\tlist\tA \\"b\\"\\t\\\\c"\tsame\tmark:A ¦ says:^ja$ = so*\tgut\twhy'.replace('\\"', '"')
    (tmp_path / "de.tsv").write_text(f"{HEAD}\n{line}\n", encoding="utf8")

    (given,) = read_inputs("de", tmp_path)

    assert given.text == 'A "b"\t\\c"'
    assert given.is_ordered
    assert given.kept == (RequiredItem(Rule.MARK, ("A",)),)
    assert given.said == (RequiredItem(Rule.SAYS, ("^ja$", "so*")),)
    assert given.good == "gut"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("a\tb\tc\tmaybe\t\t\t", KeyError),
        ("a\tb\tc\tany\tlike:c\t\t", ValueError),
        ("a\tb\t\\q\tany\t\t\t", ValueError),
    ],
    ids=["order", "rule", "escape"],
)
def test_a_line_that_is_none_is_rejected(line: str, error: type[Exception], tmp_path: Path) -> None:
    (tmp_path / "de.tsv").write_text(f"{HEAD}\n{line}\n", encoding="utf8")

    with pytest.raises(error):
        read_inputs("de", tmp_path)


def test_lists_lie_where_the_documentation_says() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.tsv")) == ["de.tsv", "en.tsv"]
