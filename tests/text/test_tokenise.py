from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import BundleError, InputError
from dragoman.text.normalise import normalise_segment
from dragoman.text.tokenise import Tokenizer

SHARED_TOKENIZER = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VOCAB_SIZE = 360
PAD, UNK, BOS, EOS = range(4)
# U+2581 is SentencePiece's own sign for a space and comes back as one.
SEGMENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581"))


@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS)
def test_decoding_gives_back_the_normalised_segment(tokenizer: Tokenizer, segment: str) -> None:
    assert tokenizer.decode(tokenizer.encode([segment])) == [normalise_segment(segment)]


@settings(SHARED_TOKENIZER)
@given(segments=st.lists(SEGMENTS))
def test_a_segment_is_encoded_alone_as_in_company(tokenizer: Tokenizer, segments: list[str]) -> None:
    encoded = tokenizer.encode(segments)

    assert encoded == [tokenizer.encode([segment])[0] for segment in segments]
    assert [len(ids) for ids in encoded] == [tokenizer.count(segment) for segment in segments]


@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS | st.sampled_from(["</s>", "<s>x</s>", "<pad>", "<unk>", "<0x41>"]))
def test_the_one_special_id_is_end_of_sentence_at_the_end(tokenizer: Tokenizer, segment: str) -> None:
    (ids,) = tokenizer.encode([segment])

    assert ids[-1] == EOS
    assert not {PAD, UNK, BOS, EOS} & set(ids[:-1])


def test_spellings_that_normalise_to_the_same_have_the_same_ids(tokenizer: Tokenizer) -> None:
    one, other = tokenizer.encode(["u\u0308ber\u00a0 die\u200b Straße", "über die Straße"])

    assert one == other


def test_no_segments_and_empty_segments_are_fine(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode([]) == []
    assert tokenizer.decode([]) == []
    assert tokenizer.encode(["", " \u200b"]) == [[EOS], [EOS]]
    assert tokenizer.decode([[], (), [EOS]]) == ["", "", ""]


def test_the_vocabulary_says_its_size_and_special_ids(tokenizer: Tokenizer) -> None:
    assert tokenizer.vocab_size == VOCAB_SIZE
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (PAD, UNK, BOS, EOS)


def test_a_lone_surrogate_is_an_input_error(tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="surrogate"):
        tokenizer.encode(["gut", "a\ud800b"])
    with pytest.raises(InputError, match="surrogate"):
        tokenizer.count("\udfff")


@settings(SHARED_TOKENIZER)
@given(ids=st.lists(st.lists(st.integers(0, VOCAB_SIZE - 1))))
def test_any_ids_of_the_vocabulary_become_proper_text(tokenizer: Tokenizer, ids: list[list[int]]) -> None:
    decoded = tokenizer.decode(ids)

    assert len(decoded) == len(ids)
    assert all(text.encode().decode() == text for text in decoded)


def test_bytes_that_are_no_utf8_become_replacement_characters(tokenizer: Tokenizer) -> None:
    (dog,) = tokenizer.encode(["😀"])
    first_byte, last_byte = dog[-5], dog[-2]

    assert tokenizer.decode([[first_byte], [last_byte, last_byte]]) == ["\ufffd", "\ufffd\ufffd"]


def test_control_ids_are_not_shown(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["Der Hund"])

    assert tokenizer.decode([[BOS, *ids, PAD, PAD]]) == ["Der Hund"]


@pytest.mark.parametrize("wrong", [-1, VOCAB_SIZE, 2**31, 2**70])
def test_an_id_outside_the_vocabulary_is_an_error(tokenizer: Tokenizer, wrong: int) -> None:
    with pytest.raises(ValueError, match=f"{wrong} .*vocabulary of {VOCAB_SIZE}|ids {wrong} "):
        tokenizer.decode([[5], [6, wrong]])


def test_threads_do_not_disturb_each_other(tokenizer: Tokenizer) -> None:
    segments = [f"Der Hund {number} läuft 😀 im Garten." for number in range(400)]
    expected = [tokenizer.encode([segment])[0] for segment in segments]

    with ThreadPoolExecutor(4) as pool:
        encoded = list(pool.map(lambda segment: tokenizer.encode([segment])[0], segments))
        decoded = list(pool.map(lambda ids: tokenizer.decode([ids])[0], encoded))

    assert encoded == expected
    assert decoded == segments


def damaged(kind: str, model: bytes) -> bytes:
    return {"empty": b"", "text": b"not a model\n" * 20, "truncated": model[: len(model) // 2]}[kind]


@pytest.mark.parametrize("kind", ["empty", "text", "truncated"])
def test_a_damaged_model_is_a_bundle_error_and_quiet(
    kind: str, model_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "target.spm"
    path.write_bytes(damaged(kind, model_path.read_bytes()))

    with pytest.raises(BundleError, match=r"target\.spm is not a SentencePiece model") as caught:
        Tokenizer.load(path)

    assert caught.value.bundle == str(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_a_missing_model_is_a_bundle_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"source\.spm"):
        Tokenizer.load(tmp_path / "source.spm")


def test_a_folder_is_a_bundle_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="is not a SentencePiece model"):
        Tokenizer.load(tmp_path)


def test_a_model_without_end_of_sentence_is_a_bundle_error(model_without_eos: Path) -> None:
    with pytest.raises(BundleError, match="no end-of-sentence piece"):
        Tokenizer.load(model_without_eos)


def test_work_is_quiet(model_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tokenizer = Tokenizer.load(model_path)
    tokenizer.decode(tokenizer.encode(["Der Hund läuft.", "", "\x00😀", "x" * 10_000]))

    assert capfd.readouterr() == ("", "")
