"""What the tiny model learned by heart is what it says; expected texts are its training targets."""

import pytest

from dragoman import DecodingOptions, FinishReason, Translator
from tests.engine.conftest import translate_all

GREEDY = DecodingOptions(beam_size=1)
BEAM = DecodingOptions(beam_size=4, num_hypotheses=3)


@pytest.mark.parametrize(("bundle", "options"), [("tiny", GREEDY), ("tiny", BEAM), ("tiny_int8", BEAM)])
def test_learned_sentences_are_translated(
    bundle: str, options: DecodingOptions, pairs: list[tuple[str, str]], request: pytest.FixtureRequest
) -> None:
    sources, targets = map(list, zip(*pairs, strict=True))

    found = translate_all(request.getfixturevalue(bundle), sources, options)

    assert [one.text for one in found] == targets
    for translation in found:  # scores are mean log-probabilities, near 0 for what is known by heart
        assert translation.score is not None
        assert -0.5 < translation.score < 0
        assert translation.finish_reason is FinishReason.STOP


def test_alternatives_are_sorted_distinct_and_led_by_the_best(tiny: Translator) -> None:
    translation = tiny.translate("Der Hund schläft.", BEAM)

    scores = [alternative.score or 0.0 for alternative in translation.alternatives]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert translation.alternatives[0].text == translation.text
    assert len({alternative.text for alternative in translation.alternatives}) == 3


def test_a_document_keeps_its_shape(tiny: Translator) -> None:
    source = "  Guten Morgen!\n\n\tDas ist ein Haus.  Der Hund schläft.\r\n\n* 42 *\nJa."

    translation = tiny.translate(source, GREEDY)

    assert translation.text == "  Good morning!\n\n\tThis is a house.  The dog is sleeping.\r\n\n* 42 *\nYes."
    reasons = [segment.finish_reason for segment in translation.segments]
    assert reasons[-2:] == [FinishReason.COPIED, FinishReason.STOP]
