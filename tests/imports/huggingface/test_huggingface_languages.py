"""Codes of models as BCP-47, what surrounds a text in each language, and which languages a bundle serves."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.types import Pair
from export.huggingface.codes import M2M_100, MBART_25, MBART_50, NLLB_200
from export.huggingface.languages import tag_languages, to_bcp47
from tests.imports.huggingface.conftest import load, problems_of
from tests.imports.huggingface.make_models import edit_json, write_m2m, write_marian, write_mbart, write_nllb

Copy = Callable[[Path], Path]


@pytest.mark.parametrize(
    ("own", "code"),
    [
        ("deu_Latn", "de"),
        ("zho_Hans", "zh-Hans"),
        ("zho_Hant", "zh-Hant"),
        ("cmn_Hans", "zh-Hans"),
        ("arb_Arab", "ar"),
        ("ary_Arab", "ary-Arab"),
        ("swh_Latn", "sw"),
        ("twi_Latn", "tw-Latn"),
        ("nob_Latn", "nb"),
        ("prs_Arab", "fa-AF"),
        ("deu", "de"),
        ("pt_br", "pt-BR"),
        ("es_419", "es-419"),
        ("iw", "he"),
        ("ns", "nso"),
        ("ROMANCE", None),
        ("", None),
        ("x y", None),
        ("xx", None),
    ],
)
def test_codes_become_bcp47(own: str, code: str | None) -> None:
    assert to_bcp47(own) == code


@pytest.mark.parametrize(
    ("codes", "drops_regions"), [(M2M_100, ""), (NLLB_200, ""), (MBART_25, "yes"), (MBART_50, "yes")]
)
def test_every_language_of_the_large_models_has_a_distinct_code(
    codes: tuple[str, ...], drops_regions: str
) -> None:
    problems: list[str] = []

    tagged = tag_languages(
        {code: index for index, code in enumerate(codes)}, problems, drops_regions=bool(drops_regions)
    )

    assert problems == []
    assert [each.id for each in tagged] == list(range(len(codes)))
    assert all(own in each.names or own == each.code for own, each in zip(codes, tagged, strict=True))


def test_codes_that_would_collide_keep_their_distinguishing_subtag() -> None:
    problems: list[str] = []

    forms = tag_languages({"twi_Latn": 0, "aka_Latn": 1, "cmn": 2, "zho": 3}, problems)
    regions = tag_languages({"pt_PT": 0, "pt_BR": 1, "de_DE": 2}, problems, drops_regions=True)

    assert [each.code for each in forms] == ["tw-Latn", "ak-Latn", "cmn", "zh"]
    assert [each.code for each in regions] == ["pt-PT", "pt-BR", "de"]
    assert problems == []


def test_codes_that_still_collide_are_reported() -> None:
    problems: list[str] = []

    tag_languages({"deu": 0, "de": 1, "2x": 2}, problems)

    assert problems == [
        "language '2x' is not a language tag",
        "languages 'deu' and 'de' have the same code de",
    ]


def test_a_common_name_is_kept_if_no_other_language_has_it() -> None:
    problems: list[str] = []

    assert [each.names for each in tag_languages({"tl": 0, "nob": 1}, problems)] == [("tl",), ("nob", "no")]
    assert [each.names for each in tag_languages({"no": 0, "nob": 1}, problems)] == [(), ("nob",)]


def test_a_model_of_one_pair_serves_the_pair_that_its_tokenizer_names(marian_folder: Path) -> None:
    assert load(marian_folder).languages == Languages(
        {"de": SourceLanguage((), (), (0,))}, {"en": TargetLanguage((), (), (645,))}
    )


def test_requested_languages_override_those_of_the_files(marian_folder: Path) -> None:
    languages = load(marian_folder, ("deu_Latn", "nds"), ("eng",)).languages

    assert list(languages.sources) == ["de", "nds"]
    assert languages.sources["de"].names == ("deu_Latn",)
    assert list(languages.targets) == ["en"]


@pytest.mark.parametrize("group", ["ROMANCE", "NORTH_EU", "NORWAY", "SCANDINAVIA", "gem", "mul", "sla"])
def test_a_group_of_languages_must_be_named_by_the_caller(group: str, folder: Path) -> None:
    edit_json(folder / "tokenizer_config.json", {"source_lang": group, "target_lang": group})

    source, target = problems_of(folder)
    assert source == (
        f"tokenizer_config.json: source_lang {group!r} is not one language; give one with"
        " --source-lang, or several, separated by commas"
    )
    assert target == (
        f"tokenizer_config.json: target_lang {group!r} is not one language; give one with --target-lang"
    )
    assert list(load(folder, ("fr", "it"), ("en",)).languages.pairs()) == [Pair("fr", "en"), Pair("it", "en")]


def test_two_targets_for_a_model_with_one_are_rejected(marian_folder: Path) -> None:
    assert problems_of(marian_folder, (), ("en", "fr")) == (
        "2 target languages are requested (en, fr), but the model has one",
    )


def test_target_codes_in_the_vocabulary_precede_the_source(tmp_path: Path) -> None:
    write_marian(tmp_path, targets=("deu", "pt_br", "cmn_Hans", "cmn_Hant"))
    vocabulary = load(tmp_path).source_tokenizer.vocabulary
    assert vocabulary is not None

    targets = load(tmp_path, ("en",), ()).languages.targets

    assert {code: target.names for code, target in targets.items()} == {
        "de": ("deu",),
        "pt-BR": ("pt_br",),
        "zh-Hans": ("cmn_Hans",),
        "zh-Hant": ("cmn_Hant",),
    }
    (before,) = {len(target.source_before) for target in targets.values()}
    assert before == 1
    assert all(vocabulary[target.source_before[0]] == "" for target in targets.values())
    assert len({target.begin for target in targets.values()}) == 1


def test_only_requested_targets_are_served_and_ambiguous_others_are_ignored(tmp_path: Path) -> None:
    write_marian(tmp_path, targets=("deu", "fra", "2x"))

    assert problems_of(tmp_path) == ("language '2x' is not a language tag; exclude it with --target-lang",)
    assert list(load(tmp_path, (), ("fr",)).languages.targets) == ["fr"]
    assert problems_of(tmp_path, (), ("es", "2x")) == (
        "es is not one of its target languages: de, fr",
        "2x is not one of its target languages: de, fr",
    )


def test_m2m_prefixes_the_source_code_and_forces_the_target_code(tmp_path: Path) -> None:
    size = write_m2m(tmp_path).config.vocab_size
    german, english = (size - 108 + M2M_100.index(code) for code in ("de", "en"))

    languages = load(tmp_path).languages

    assert len(languages.sources) == len(languages.targets) == 100
    assert languages.sources["de"] == SourceLanguage((), (german,), (2,))
    assert languages.targets["en"] == TargetLanguage((), (), (2, english))


def test_small_100_reads_the_code_of_the_target_before_any_source(tmp_path: Path) -> None:
    size = write_m2m(tmp_path).config.vocab_size
    edit_json(tmp_path / "tokenizer_config.json", {"tokenizer_class": "SMALL100Tokenizer"})
    german, english = (size - 108 + M2M_100.index(code) for code in ("de", "en"))

    languages = load(tmp_path).languages

    assert languages.sources["de"] == SourceLanguage((), (), (2,))
    assert languages.targets["de"] == TargetLanguage((), (german,), (2,))
    assert languages.targets["en"] == TargetLanguage((), (english,), (2,))
    assert languages.sources.keys() == languages.targets.keys()


def test_nllb_puts_the_source_code_first_or_last_in_legacy_mode(nllb_folder: Path, copy_of: Copy) -> None:
    folder = copy_of(nllb_folder)
    edit_json(folder / "tokenizer_config.json", {"legacy_behaviour": True})
    new, old = load(nllb_folder).languages, load(folder).languages

    (german,) = new.sources["de"].before
    assert new.sources["de"] == SourceLanguage(("deu_Latn",), (german,), (2,))
    assert old.sources["de"] == SourceLanguage(("deu_Latn",), (), (2, german))
    assert new.targets == old.targets
    assert new.targets["de"] == TargetLanguage(("deu_Latn",), (), (2, german))
    assert len(new.sources) == len(new.targets) == 202


def test_mbart_appends_the_source_code_and_starts_the_target_with_its_code(mbart_folder: Path) -> None:
    languages = load(mbart_folder).languages

    german = languages.targets["de"].begin[0]
    assert languages.sources["de"] == SourceLanguage(("de_DE",), (), (2, german))
    assert languages.targets["de"] == TargetLanguage(("de_DE",), (), (german,))
    assert len(languages.sources) == len(languages.targets) == 25


def test_mbart_50_prefixes_the_source_code_and_forces_the_target_code(tmp_path: Path) -> None:
    write_mbart(tmp_path, is_50=True)

    languages = load(tmp_path).languages

    (german,) = languages.sources["de"].before
    assert languages.sources["de"] == SourceLanguage(("de_DE",), (german,), (2,))
    assert languages.targets["de"] == TargetLanguage(("de_DE",), (), (2, german))
    assert len(languages.sources) == len(languages.targets) == 52


def test_a_forced_target_is_the_only_one_unless_others_are_requested(
    nllb_folder: Path, copy_of: Copy
) -> None:
    folder = copy_of(nllb_folder)
    (french,) = load(folder).languages.sources["fr"].before
    edit_json(folder / "generation_config.json", {"forced_bos_token_id": french})

    assert list(load(folder).languages.targets) == ["fr"]
    assert load(folder).languages.targets["fr"].begin == (2, french)
    assert list(load(folder, (), ("de",)).languages.targets) == ["de"]
    edit_json(folder / "generation_config.json", {"forced_bos_token_id": 7})
    assert problems_of(folder) == ("forced_bos_token_id 7 is not the id of one of its languages",)


def test_a_language_that_starts_every_target_is_the_only_one(mbart_folder: Path, copy_of: Copy) -> None:
    folder = copy_of(mbart_folder)
    romanian = load(folder).languages.targets["ro"].begin[0]
    edit_json(folder / "generation_config.json", {"decoder_start_token_id": romanian})

    assert load(folder).languages.targets == {"ro": TargetLanguage(("ro_RO",), (), (romanian,))}
    edit_json(folder / "generation_config.json", {"decoder_start_token_id": 2})
    assert load(folder).languages.targets["ro"].begin == (2, romanian)


def test_a_token_forced_first_is_forced_for_every_target(folder: Path) -> None:
    edit_json(folder / "generation_config.json", {"forced_bos_token_id": 9})

    assert load(folder).languages.targets["en"].begin == (645, 9)


CODES: Mapping[str, tuple[str, str]] = {"nllb": ("deu_Latn", "eng_Latn"), "plain": ("de", "en")}


@pytest.mark.parametrize("spelling", CODES)
def test_requested_languages_are_found_by_any_of_their_names(spelling: str, nllb_folder: Path) -> None:
    source, target = CODES[spelling]

    languages = load(nllb_folder, (source,), (target,)).languages

    assert list(languages.pairs()) == [Pair("de", "en")]


def test_an_unknown_language_is_rejected_with_the_number_of_known_ones(nllb_folder: Path) -> None:
    assert problems_of(nllb_folder, ("tlh",), ("de", "qya")) == (
        "tlh is not one of its source languages: 202 languages",
        "qya is not one of its target languages: 202 languages",
    )


def test_a_language_that_was_added_to_a_model_is_served(tmp_path: Path) -> None:
    write_nllb(tmp_path, form="model")
    size = load(tmp_path).model.config.source_vocab_size
    first = size - 2 - len(NLLB_200) - 1
    ids = {code: first + index for index, code in enumerate((*NLLB_200, "<mask>", "nds_Latn"))}
    tokens = {str(index): {"content": token, "special": True} for token, index in ids.items()}
    edit_json(tmp_path / "tokenizer_config.json", {"added_tokens_decoder": tokens})

    assert load(tmp_path).languages.targets["nds"].begin == (2, size - 2)
