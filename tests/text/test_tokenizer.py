import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from dragoman.errors import BundleError, InputError
from dragoman.text import tokenizer
from dragoman.text.normalization import normalise_segment
from dragoman.text.tokenizer import Tokenizer
from tests.pieces import all_pieces
from tests.text.conftest import GERMAN, train_model

SHARED_TOKENIZER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
VOCAB_SIZE = 360
PAD, UNK, BOS, EOS = range(4)
CONTROLS = st.sampled_from(["</s>", "<s>x</s>", "<pad>", "<unk>", "<0x41>", ">>de<<", "de_DE"])
# U+2581 is SentencePiece's own sign for a space and comes back as one.
SEGMENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581"))


@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS)
def test_decoding_gives_back_the_normalised_segment(tokenizer: Tokenizer, segment: str) -> None:
    assert tokenizer.decode(tokenizer.encode([segment])) == [normalise_segment(segment)]


@settings(SHARED_TOKENIZER)
@given(segments=st.lists(SEGMENTS))
def test_a_segment_is_encoded_alone_as_in_company(
    tokenizer: Tokenizer, listed: Tokenizer, segments: list[str]
) -> None:
    for each in (tokenizer, listed):
        encoded = each.encode(segments * 12)  # on several threads

        assert encoded == [each.encode([segment])[0] for segment in segments] * 12
        assert [len(ids) for ids in encoded] == [each.count(segment) for segment in segments] * 12


@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS | CONTROLS)
def test_a_text_has_no_special_ids(tokenizer: Tokenizer, segment: str) -> None:
    (ids,) = tokenizer.encode([segment])

    assert not {PAD, UNK, BOS, EOS} & set(ids)


def test_spellings_that_normalise_to_the_same_have_the_same_ids(tokenizer: Tokenizer) -> None:
    one, other = tokenizer.encode(["u\u0308ber\u00a0 die\u200b Straße", "über die Straße"])

    assert one == other


def test_a_lone_surrogate_is_an_input_error(tokenizer: Tokenizer) -> None:
    for read in (lambda: tokenizer.encode(["gut", "a\ud800b"]), lambda: tokenizer.count("\udfff")):
        with pytest.raises(InputError, match="surrogate"):
            read()


@settings(SHARED_TOKENIZER)
@given(ids=st.lists(st.lists(st.integers(0, VOCAB_SIZE - 1))))
def test_any_ids_of_the_vocabulary_become_proper_text(tokenizer: Tokenizer, ids: list[list[int]]) -> None:
    decoded = tokenizer.decode(ids)

    assert len(decoded) == len(ids)
    assert all(text.encode().decode() == text for text in decoded)


@settings(SHARED_TOKENIZER)
@given(ids=st.lists(st.lists(st.integers(0, VOCAB_SIZE - 1), max_size=5), min_size=8, max_size=20))
def test_many_targets_are_decoded_together_as_each_is_alone(
    tokenizer: Tokenizer, ids: list[list[int]]
) -> None:
    assert tokenizer.decode(ids) == [tokenizer.decode([each])[0] for each in ids]


def test_bytes_that_make_no_character_are_left_out(tokenizer: Tokenizer) -> None:
    (face,) = tokenizer.encode(["😀"])
    assert sorted(tokenizer.byte_ids.values()) == list(range(256))
    assert bytes(tokenizer.byte_ids[index] for index in face[-4:]) == "😀".encode()
    first_byte, last_byte = face[-4], face[-1]
    (dog,) = tokenizer.encode(["Hund"])

    broken = [first_byte, *dog, last_byte, last_byte, *face[-4:], *face[-4:-1]]

    assert tokenizer.decode([broken, [first_byte], face[-3:]]) == ["Hund😀", "", ""]
    spans = tokenizer.target_spans([first_byte, *face[-4:]])
    assert [tuple(span) for span in spans] == [*[(0, 0)] * 4, (0, 1)]


@settings(SHARED_TOKENIZER)
@given(ids=st.lists(st.integers(0, VOCAB_SIZE - 1)))
def test_a_replacement_character_only_comes_of_its_own_bytes(tokenizer: Tokenizer, ids: list[int]) -> None:
    (text,) = tokenizer.decode([ids])

    spelled = [tokenizer.byte_ids.get(index, 0) for index in ids]
    is_spelled = bytes("\ufffd", "utf8") in bytes(spelled)
    assert ("\ufffd" in text) == is_spelled


def test_control_ids_are_not_shown(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["Der Hund"])

    assert tokenizer.decode([[BOS, *ids, EOS, PAD, PAD], [], (), [EOS]]) == ["Der Hund", "", "", ""]


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


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda _: b"not a model\n" * 20, lambda model: model[: len(model) // 2]],
    ids=["empty", "text", "truncated"],
)
def test_a_damaged_model_is_a_bundle_error_and_quiet(
    damage: Callable[[bytes], bytes], model_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "target.spm"
    path.write_bytes(damage(model_path.read_bytes()))

    with pytest.raises(BundleError, match=r"target\.spm is not a SentencePiece model") as caught:
        Tokenizer.load(path)

    assert caught.value.bundle == str(tmp_path)
    assert capfd.readouterr() == ("", "")


@settings(SHARED_TOKENIZER)
@given(data=st.data())
def test_a_piece_that_is_not_utf_8_is_a_bundle_error(
    data: st.DataObject, model_path: Path, tmp_path: Path
) -> None:
    """In any piece: SentencePiece itself notices it only when the piece is used."""
    model = sentencepiece_model_pb2.ModelProto.FromString(model_path.read_bytes())  # type: ignore[attr-defined] # made when imported
    piece = data.draw(st.sampled_from([each.piece for each in model.pieces if len(each.piece) > 1])).encode()
    at = data.draw(st.integers(0, len(piece) - 1))
    damaged = piece[:at] + b"\xff" + piece[at + 1 :]
    path = tmp_path / "source.spm"
    path.write_bytes(model_path.read_bytes().replace(piece, damaged, 1))

    with pytest.raises(BundleError, match=r"source\.spm is not a SentencePiece model"):
        Tokenizer.load(path)


def test_a_missing_file_and_a_folder_are_bundle_errors(model_path: Path, tmp_path: Path) -> None:
    for paths, problem in (
        ([tmp_path / "source.spm"], r"source\.spm"),
        ([tmp_path], "is not a SentencePiece model"),
        ([model_path, tmp_path / "source.json"], r"source\.json cannot be read: No such file"),
    ):
        with pytest.raises(BundleError, match=problem):
            Tokenizer.load(*paths)


def test_a_text_is_as_it_is_where_nothing_normalises(model_path: Path) -> None:
    raw = Tokenizer.load(model_path, normalises=False)
    (composed, decomposed) = raw.encode(["über", "u\u0308ber"])

    assert composed != decomposed
    assert raw.decode([decomposed]) == ["u\u0308ber"]


@pytest.fixture(scope="session")
def listed_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model without byte pieces, as those that have a vocabulary beside them are."""
    path = tmp_path_factory.mktemp("listed") / "source.spm"
    path.write_bytes(train_model([GERMAN], vocab_size=70, has_bytes=False))
    return path


def write_list(model: Path, pieces: object) -> Path:
    path = model.with_name("vocabulary.json")
    path.write_text(json.dumps(pieces), encoding="utf8")
    return path


@pytest.fixture
def listed(listed_pieces: Path) -> Tokenizer:
    """Pieces in reverse, with ids that stand for no text and pieces that the model does not have."""
    pieces = ["", "", *reversed(all_pieces(listed_pieces)), "", "日本", "\u2581extra", ""]
    return Tokenizer.load(listed_pieces, write_list(listed_pieces, pieces), normalises=False)


def test_listed_pieces_have_the_ids_of_their_places(listed_pieces: Path, listed: Tokenizer) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(listed_pieces))
    (ids,) = listed.encode(["Der Hund läuft."])
    size = processor.vocab_size()

    assert listed.vocab_size == size + 6
    assert listed.unk_id == 2 + size - 1 - processor.unk_id()
    assert ids == [2 + size - 1 - own for own in processor.encode("Der Hund läuft.")]
    assert listed.count("Der Hund läuft.") == len(ids)
    assert listed.decode([ids]) == ["Der Hund läuft."]


def test_a_piece_that_the_model_lacks_is_found_in_the_list(listed: Tokenizer) -> None:
    assert listed.encode(["日本"])[0][-1] == listed.vocab_size - 3
    assert listed.encode(["日"])[0][-1] == listed.unk_id
    assert listed.decode([[listed.vocab_size - 3, listed.vocab_size - 2]]) == ["日本 extra"]


@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS | CONTROLS | st.sampled_from(["日本</s>", "\u2581extra"]))
def test_a_text_has_no_id_without_text(listed: Tokenizer, segment: str) -> None:
    (ids,) = listed.encode([segment])

    assert all(index == listed.unk_id or listed.decode([[index, *ids]]) for index in ids)


@settings(SHARED_TOKENIZER)
@given(data=st.data())
def test_ids_without_text_change_nothing(listed: Tokenizer, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, listed.vocab_size - 1)))
    silent = {0, 1, listed.unk_id, listed.vocab_size - 1}

    assert listed.decode([ids]) == listed.decode([[index for index in ids if index not in silent]])


def test_control_pieces_are_never_made_of_text(listed_pieces: Path) -> None:
    """What the model does not know comes back as one piece, which may be spelled like a control piece."""
    pieces = ["日本" if piece == "</s>" else piece for piece in all_pieces(listed_pieces)]
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined] # made when imported
    model.ParseFromString(listed_pieces.read_bytes())
    model.pieces[EOS].piece = "日本"
    model.trainer_spec.eos_piece = "日本"
    changed = listed_pieces.with_name("changed.spm")
    changed.write_bytes(model.SerializeToString())

    tokenizer = Tokenizer.load(changed, write_list(changed, pieces), normalises=False)

    assert tokenizer.encode(["日本"])[0][-1] == tokenizer.unk_id
    assert tokenizer.decode([[EOS]]) == [""]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"a": 1}', "is not a list of strings"),
        (b'["a", 1]', "is not a list of strings"),
        (b'["<unk>", "a", "b", "a"]', "has 'a' twice"),
        (b'["", "", "a"]', "does not have '<unk>'"),
        (b"[]", "does not have '<unk>'"),
        (b'["<unk>", "\\ud800"]', "not well-formed Unicode"),
    ],
)
def test_a_damaged_vocabulary_is_a_bundle_error(
    content: bytes, problem: str, model_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "source.json"
    path.write_bytes(content)

    with pytest.raises(BundleError, match=r"source\.json") as caught:
        Tokenizer.load(model_path, path)

    assert caught.value.bundle == str(tmp_path)
    assert problem in str(caught.value)


def test_a_vocabulary_beyond_the_limit_is_not_read(
    model_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "source.json"
    path.write_text('["<unk>", "a"]', encoding="utf8")
    size = path.stat().st_size
    monkeypatch.setattr(tokenizer, "MAX_VOCABULARY_BYTES", size)
    assert Tokenizer.load(model_path, path).vocab_size == 2

    monkeypatch.setattr(tokenizer, "MAX_VOCABULARY_BYTES", size - 1)
    with pytest.raises(BundleError, match=f"more than {size - 1} bytes"):
        Tokenizer.load(model_path, path)
