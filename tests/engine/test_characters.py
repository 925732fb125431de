"""What the shipped models spell in bytes comes out as characters."""

import pytest

from dragoman import DecodingOptions, EngineRequest, Translator
from dragoman.bundle import open_bundle
from dragoman.decoding.options import Sampling
from dragoman.loading import open_shortlist, open_tokenizers
from tests.engine.conftest import MODELS, TIMEOUT_S

OPTIONS = {
    "greedy": DecodingOptions(beam_size=1),
    "beam": DecodingOptions(),
    "all_tokens": DecodingOptions(use_shortlist=False),
    "greedy_all_tokens": DecodingOptions(beam_size=1, use_shortlist=False),
    "filtered": DecodingOptions(repetition_penalty=1.3, no_repeat_ngram_size=3),
    "sampled": DecodingOptions(num_hypotheses=3, sampling=Sampling(top_k=20, seed=1)),
    "prefix": DecodingOptions(target_prefix="Hey 😀"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(
    "text", ["Hallo 😀😀😀", '😀 "Zitate"', "Das Wort Привет heißt Hallo.", "Ein ❤ für 蛇 und Ω"]
)
def test_no_translation_has_a_replacement_character(
    de_en: Translator, text: str, options: DecodingOptions
) -> None:
    translation = de_en.translate(text, options)

    for alternative in translation.alternatives:
        assert "\ufffd" not in alternative.text
        assert alternative.text


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_character_that_the_limit_cuts_is_left_out(de_en: Translator, beam_size: int) -> None:
    whole = de_en.translate("Hallo 😀😀😀", DecodingOptions(beam_size=beam_size)).text
    assert whole.endswith("😀😀😀")

    for limit in range(3, 17):
        cut = de_en.translate("Hallo 😀😀😀", DecodingOptions(beam_size=beam_size, max_length=limit)).text
        assert set(cut) <= set(whole), cut


def test_tokens_so_far_are_shown_without_half_a_character(de_en: Translator) -> None:
    shown: list[str] = []
    request = EngineRequest(DecodingOptions(beam_size=1), on_token=lambda _, text: shown.append(text))

    de_en.submit("Hallo 😀😀😀", request).result(TIMEOUT_S)

    assert "\ufffd" not in "".join(shown)
    assert any("😀" in text for text in shown)


@pytest.mark.parametrize("name", ["de-en", "en-de"])
def test_every_byte_of_a_source_is_on_its_shortlist(name: str) -> None:
    bundle = open_bundle(MODELS / name)
    shortlist = open_shortlist(bundle)
    assert shortlist is not None

    for index in open_tokenizers(bundle)[0].byte_ids:
        assert index in shortlist.candidates([index])
