"""Sources that request a term or a form of address, and their token ids."""

from pathlib import Path
from random import Random

import pytest
import sentencepiece

from tests.training.conftest import ENGLISH_TO_GERMAN, GERMAN_TO_ENGLISH, SUBJECTS
from training import controls
from training.controls import CONTROLS, FORMAL, INFORMAL, TERM, TERM_END, TRANSLATION, mark
from training.corpus import TextPair
from training.variants.formality import formality, german_address, informal, neutral_formality
from training.variants.terms import TermDictionary, terms

DICTIONARY = TermDictionary(
    [
        TextPair("Tür", "door"),
        TextPair("Haus", "house"),
        TextPair("Haus", "building"),
        TextPair("elektrisches Licht", "electric light"),
        TextPair("Licht", "light"),
    ]
)


def readable(text: str) -> str:
    """With the names of control pieces for their marks."""
    return "".join(next((name for name in CONTROLS if mark(name) == c), c) for c in text)


def annotated(source: str, target: str, seed: int = 1) -> str | None:
    rng = Random(seed)  # noqa: S311 -- wanted the same again, not secret
    copy = terms(TextPair(source, target), rng, DICTIONARY)
    assert copy is None or copy.target == target
    return None if copy is None else readable(copy.source)


@pytest.mark.parametrize(
    ("german", "control"),
    [
        ("Können Sie mir helfen?", FORMAL),
        ("Ich danke Ihnen für Ihren Brief.", FORMAL),
        ("Kannst du mir helfen?", INFORMAL),
        ("Deine Schwester ist da.", INFORMAL),
        ("Sie sind nicht zu Hause.", None),  # they, or you
        ("Ihr Hund schläft.", None),  # her, or your
        ("Hast du gehört, was Sie sagten?", None),  # both
        ("Der Hund schläft.", None),
    ],
)
def test_the_form_of_address_is_detected_only_in_unambiguous_german_sentences(
    german: str, control: str | None
) -> None:
    assert german_address(german) == control


@pytest.mark.parametrize(
    ("english", "german", "control"),
    [
        ("Go home!", "Geh nach Hause!", INFORMAL),
        ("Please wait here!", "Bitte warte hier!", None),  # begins with a word that is no imperative
        ("Open the file!", "Datei öffnen!", None),  # an infinitive addresses nobody in particular
        ("Open the file!", "Öffnen Sie die Datei!", FORMAL),
        ("Go home.", "Geh nach Hause.", None),  # a statement may begin like this
    ],
)
def test_an_imperative_shows_its_form_of_address(english: str, german: str, control: str | None) -> None:
    copy = formality(TextPair(english, german), ENGLISH_TO_GERMAN)
    assert copy == (None if control is None else TextPair(f"{mark(control)} {english}", german))


@pytest.mark.parametrize(
    ("english", "german", "is_neutral"),
    [
        ("The law must be followed.", "Das Gesetz muss befolgt werden.", True),
        ("Her dog sleeps.", "Ihr Hund schläft.", False),  # `Ihr` may be `your`
        ("Can you help?", "Hilft jemand?", False),
        ("Open the file.", "Die Datei wird geöffnet.", False),
        ("It is yours.", "Es ist das andere.", False),
    ],
)
def test_a_control_changes_nothing_only_where_no_side_addresses_anybody(
    english: str, german: str, *, is_neutral: bool
) -> None:
    rng = Random(1)  # noqa: S311 -- wanted the same again, not secret
    copy = neutral_formality(TextPair(english, german), rng, ENGLISH_TO_GERMAN)
    assert (copy is not None) == is_neutral
    if copy is not None:
        assert readable(copy.source).split(" ", 1) in ([FORMAL, english], [INFORMAL, english])
        assert copy.target == german
        assert neutral_formality(TextPair(german, english), rng, GERMAN_TO_ENGLISH) is None


@pytest.mark.parametrize(
    ("english", "german", "expected"),
    [
        ("Can you help me?", "Können Sie mir helfen?", "Kannst du mir helfen?"),
        ("Click the link.", "Klicken Sie auf den Link.", "Klicke auf den Link."),
        ("Take your time.", "Nehmen Sie Ihre Zeit.", "Nimm deine Zeit."),
        ("Let me know.", "Lassen Sie mich das wissen.", "Lass mich das wissen."),
        ("As you know, it is late.", "Wie Sie wissen, ist es spät.", "Wie du weißt, ist es spät."),
        ("You open the file.", "Sie öffnen Ihre Datei.", "Du öffnest deine Datei."),
        ("I thank you for your work.", "Ich danke Ihnen für Ihre Arbeit.", "Ich danke dir für deine Arbeit."),
        ("I ask you to wait.", "Ich bitte Sie zu warten.", "Ich bitte dich zu warten."),
        ("If you go, call.", "Wenn Sie gehen, rufen Sie an.", "Wenn du gehst, rufe an."),
        ("You change the text.", "Sie ändern Ihren Text.", "Du änderst deinen Text."),
        ("Imagine it, you two.", "Stellen Sie sich das vor.", None),  # `sich` may become `dich` or `dir`
        ("As you all know, it is late.", "Wie Sie alle wissen, ist es spät.", None),  # several people
        ("They open your file.", "Sie öffnen Ihre Datei.", None),  # the first `Sie` is `they`
        ("You are root and have time.", "Wenn Sie root sind und Zeit haben, ist Ihre Zeit da.", None),
        ("He sleeps.", "Er sagt es Ihnen.", None),  # the source addresses nobody
    ],
)
def test_rules_change_sie_to_du_or_leave_the_pair_out(
    english: str, german: str, expected: str | None
) -> None:
    copy = informal(TextPair(english, german), ENGLISH_TO_GERMAN)
    assert copy == (None if expected is None else TextPair(f"{mark(INFORMAL)} {english}", expected))
    assert informal(TextPair(german, english), GERMAN_TO_ENGLISH) is None


def test_the_formality_control_precedes_only_english_sources() -> None:
    pair = TextPair("Can you help me?", "Kannst du mir helfen?")

    copy = formality(pair, ENGLISH_TO_GERMAN)

    assert copy is not None
    assert readable(copy.source) == "<informal> Can you help me?"
    assert copy.target == pair.target
    assert formality(TextPair(pair.target, pair.source), GERMAN_TO_ENGLISH) is None


def test_a_term_is_annotated_with_the_translation_that_is_in_the_target() -> None:
    expected = "Das <term> Haus <translation> building </term> ist alt."

    assert annotated("Das Haus ist alt.", "The building is old.") == expected
    assert annotated("Das Haus ist alt.", "The home is old.") is None


def test_the_longest_term_is_annotated() -> None:
    found = DICTIONARY.find(TextPair("Kein elektrisches Licht!", "No electric light!"))

    assert [place[2] for place in found] == ["electric light"]


def test_an_inflected_term_is_annotated_in_the_spelling_of_dictionary_or_target() -> None:
    found = {annotated("Die Lichter brennen.", "The lights are on.", seed) for seed in range(20)}

    assert found == {
        "Die <term> Lichter <translation> light </term> brennen.",
        "Die <term> Lichter <translation> lights </term> brennen.",
    }


@pytest.fixture(scope="module")
def processor(tmp_path_factory: pytest.TempPathFactory) -> sentencepiece.SentencePieceProcessor:
    path = tmp_path_factory.mktemp("vocabulary") / "source.spm"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([side for pair in SUBJECTS for side in pair] * 10),
            model_writer=file,
            vocab_size=330,
            hard_vocab_limit=False,
            byte_fallback=True,
            control_symbols=list(CONTROLS),
            minloglevel=2,
        )
    return sentencepiece.SentencePieceProcessor(model_file=str(Path(path)))


def test_marks_become_control_pieces_and_text_between_them_separate_words(
    processor: sentencepiece.SentencePieceProcessor,
) -> None:
    text = f"Der {mark(TERM)} Hund {mark(TRANSLATION)} dog {mark(TERM_END)} singt"

    (ids,) = controls.encode(processor, [text])

    der, hund, dog, singt = (processor.encode(word) for word in ("Der", "Hund", "dog", "singt"))
    term, translation, term_end = map(processor.piece_to_id, (TERM, TRANSLATION, TERM_END))
    assert ids == [*der, term, *hund, translation, *dog, term_end, *singt, processor.eos_id()]


def test_no_text_spells_a_control_piece(processor: sentencepiece.SentencePieceProcessor) -> None:
    texts = [" ".join(CONTROLS), "<term>Hund</term>"]

    ids = {piece for row in controls.encode(processor, texts) for piece in row}

    assert not ids & {processor.piece_to_id(name) for name in CONTROLS}


def test_text_without_marks_is_encoded_as_usual(processor: sentencepiece.SentencePieceProcessor) -> None:
    texts = ["Der Hund", "My sister"]

    assert controls.encode(processor, texts) == processor.encode(texts, add_eos=True)
