"""Confidences of the tiny bundle, with a confidence map and without."""

import math
from collections.abc import Iterator

import pytest

from dragoman import DecodingOptions, Translation, Translator
from dragoman.confidence import ConfidenceMap
from tests.engine.conftest import copy_with

MAP = ConfidenceMap(-1.0, 5.0, 0.5, -2.0, 1.5, min_source_characters=5, max_source_characters=20)
TOKENS = DecodingOptions(return_tokens=True)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Translator]:
    """The tiny bundle with `MAP`."""
    folder = copy_with(tmp_path_factory.mktemp("calibrated") / "tiny", confidence=MAP)
    with Translator.open(folder, replicas=1) as translator:
        yield translator


def confidence_of(translation: Translation) -> float:
    assert translation.confidence is not None
    return translation.confidence


def mean_logprob(translation: Translation) -> float:
    """From the log-probabilities of all tokens."""
    tokens = [token for segment in translation.segments for token in segment.tokens or ()]
    return math.fsum(token.logprob for token in tokens) / len(tokens)


def test_without_a_map_the_confidence_is_the_geometric_mean_of_the_token_probabilities(
    tiny: Translator,
) -> None:
    for text in ("Der Hund schläft.", "Guten Morgen! Der Hund schläft im Garten."):
        translation = tiny.translate(text, TOKENS)

        assert confidence_of(translation) == pytest.approx(math.exp(mean_logprob(translation)), rel=1e-5)


def test_with_a_map_the_confidence_of_a_segment_is_the_maps(calibrated: Translator) -> None:
    text = "Der Hund schläft im Garten."
    translation = calibrated.translate(text, TOKENS)
    log_odds = -1.0 + 5.0 * mean_logprob(translation) + 0.5 * math.log(20)
    log_odds -= 2.0 * max(0.0, math.log(1.5 * len(text) / len(translation.text)))

    assert confidence_of(translation) == pytest.approx(1 / (1 + math.exp(-log_odds)), rel=1e-5)


def test_the_confidence_of_several_segments_is_their_geometric_mean_weighted_by_tokens(
    calibrated: Translator,
) -> None:
    first, second = "Guten Morgen!", "Der Hund schläft im Garten."
    alone = [calibrated.translate(text) for text in (first, second)]
    tokens = [translation.segments[0].num_target_tokens for translation in alone]
    logs = [math.log(confidence_of(translation)) for translation in alone]
    expected = math.exp((tokens[0] * logs[0] + tokens[1] * logs[1]) / sum(tokens))

    together = calibrated.translate(f"{first}\n42\n{second}")

    assert tokens[0] != tokens[1]
    assert confidence_of(together) == pytest.approx(expected)


def test_a_map_changes_nothing_but_the_confidence(
    calibrated: Translator, tiny: Translator, pairs: list[tuple[str, str]]
) -> None:
    for source, _ in pairs[:10]:
        with_map, without = calibrated.translate(source), tiny.translate(source)

        assert with_map._replace(confidence=without.confidence) == without
        assert with_map.confidence != without.confidence


def test_a_map_leaves_copied_text_and_requests_without_scores_as_they_are(calibrated: Translator) -> None:
    assert calibrated.translate("42 %").confidence == 1.0
    assert calibrated.translate("Ja.", DecodingOptions(return_scores=False)).confidence is None
