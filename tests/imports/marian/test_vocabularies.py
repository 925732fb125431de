"""Ids are those that Marian gives its pieces, and text survives encoding and decoding."""

import json
from pathlib import Path

import pytest
import sentencepiece
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.tokenizer import Tokenizer
from export.marian import load
from export.marian.entries import read_pieces
from export.model import Transformer
from export.model.generate import pad
from export.original import Original, TokenizerSource
from tests.imports.export.rejections import GERMAN_TO_ENGLISH, message_of, rejection_of
from tests.imports.marian.conftest import Tokenizers, Written, write_model
from tests.imports.marian.reference import Reference
from tests.imports.marian.written import Variant, arrays_of, options_of, pieces_of, save_npz, save_vocabulary
from tests.pieces import real_text, train_sentencepiece


def _write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def _tokenizer(source: TokenizerSource, folder: Path) -> Tokenizer:
    vocabulary = folder / "vocabulary.json"
    vocabulary.write_text(json.dumps(source.vocabulary), encoding="utf8")
    return Tokenizer.load(source.model, vocabulary, normalises=source.normalises)


def test_pieces_that_yaml_parsers_convert_stay_text(tmp_path: Path) -> None:
    lines = [
        *("</s>: 0", '"<unk>": 1', "no: 2", "1_0: 3", "=: 4", "~: 5", "null: 6", "2020-01-01: 7", ".5: 8"),
        *('":": 9', "a:b: 10", '"#": 11', "'it''s': 12", '"say \\"so\\"": 13', '"\\\\": 14', '"\\x10": 15'),
        *("\u2028: 16", '"\x85": 17', '"\\u2581x": 18', '"\\U0001F600": 19', "▁Hund: 20", '"\\t": 21'),
        *(
            "? a long piece",
            ": 22",
            '"? ": 23',
            "?: 24",
            "'\"': 25",
            "<<: 26",
            "é\u00a0: 27",
            '">>deu<<": 28',
        ),
        *("", "# a comment: 7", "0x1F: 29"),
    ]
    path = _write(tmp_path / "vocab.yml", "\r\n".join(lines))

    assert read_pieces(path) == (
        *("</s>", "<unk>", "no", "1_0", "=", "~", "null", "2020-01-01", ".5", ":", "a:b", "#", "it's"),
        *('say "so"', "\\", "\x10", "\u2028", "\x85", "▁x", "😀", "▁Hund", "\t", "a long piece", "? ", "?"),
        *('"', "<<", "é\u00a0", ">>deu<<", "0x1F"),
    )


def test_a_json_vocabulary_is_read(tmp_path: Path) -> None:
    path = _write(tmp_path / "vocab.json", '\ufeff{"</s>": 0,\n "<unk>": 1, "no": 2, "\\ud83d\\ude00": 3}')

    assert read_pieces(path) == ("</s>", "<unk>", "no", "😀")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=8), unique=True))
def test_quoted_pieces_are_unquoted(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.yml"
    save_vocabulary(path, pieces)

    assert read_pieces(path) == tuple(pieces)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe: 0\n", "decode"),
        (b"a: 0\na: 1", "'a' twice"),
        (b'a: 0\n"a": 1', "'a' twice"),
        (b"a: 0\nb: 0", "same id"),
        (b"a: 0\nb: 2", "none with id 1"),
        (b"a: 0\nb: two", "line 2"),
        (b"a: 0\nb: -1", "line 2"),
        (b"a: 0\njust text", "line 2"),
        (b"? a\nb: 1", "line 2"),
        (b"? a", "no id"),
        (b'"\\q": 0', "\\q"),
        (b'"\\ud800": 0', "surrogate"),
        (b'"\\UFFFFFFFF": 0', "escape"),
        (b'{"a": 0, "a": 1}', "'a' twice"),
        (b'{"a": true}', "no id for 'a'"),
        (b'{"a": {"b": 1}}', "no id for 'a'"),
        (b'{"a": 0.0}', "no id for 'a'"),
        (b'{"a": ', "Expecting"),
        (b'{"a":' * 100_000, "deeply"),
        (b"a" * 20_000 + b": 0", "line 1"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_is_no_vocabulary_is_rejected(content: bytes | None, named: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.yml"
    if content is not None:
        path.write_bytes(content)

    assert named in message_of(ValueError, read_pieces, path)


def test_real_text_encodes_to_the_ids_of_its_pieces_and_decodes_back(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    written = write_model(tmp_path, Variant(tying="none"), tokenizers)
    original = load(tmp_path, GERMAN_TO_ENGLISH)

    for source, model, pieces, language in (
        (original.source_tokenizer, tokenizers.german, written.source_pieces, "de"),
        (original.target_tokenizer, tokenizers.english, written.target_pieces, "en"),
    ):
        tokenizer = _tokenizer(source, tmp_path)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        text = real_text(language)
        expected = [
            [pieces.index(piece) if piece in pieces else 1 for piece in processor.encode(line, out_type=str)]
            for line in text
        ]
        ids = tokenizer.encode(text)

        assert ids == expected
        assert tokenizer.decode(ids) == [processor.decode(processor.encode(line)) for line in text]


def test_every_id_is_in_the_tokenizer_and_text_encodes_only_to_pieces(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    written = write_model(tmp_path, Variant(tying="none"), tokenizers)
    original = load(tmp_path, GERMAN_TO_ENGLISH)
    config = original.model.config
    source, target = (
        _tokenizer(original.source_tokenizer, tmp_path),
        _tokenizer(original.target_tokenizer, tmp_path),
    )

    assert len(written.source_pieces) > len(written.target_pieces)
    assert (source.vocab_size, target.vocab_size) == (config.source_vocab_size, config.target_vocab_size)
    assert config.target_vocab_size == len(written.target_pieces) + 1
    assert config.source_vocab_size == len(written.source_pieces)  # the pad is a piece's id, under a mask
    assert config.pad_id == config.bos_id == len(written.target_pieces)
    for text in ("</s>", "<unk>", ">>deu<<", "\x00", "<s>", "<pad>"):
        assert not {0, config.bos_id} & set(target.encode([text])[0])


def test_a_smaller_source_vocabulary_is_padded_up_to_the_start_id(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    written = write_model(tmp_path, Variant(tying="none"), tokenizers)
    source, target = written.target_pieces, written.source_pieces
    sizes = (len(source), len(target))
    save_vocabulary(tmp_path / "opus.src.vocab.yml", source)
    save_vocabulary(tmp_path / "opus.trg.vocab.yml", target)
    (tmp_path / "source.spm").write_bytes(tokenizers.english)
    (tmp_path / "target.spm").write_bytes(tokenizers.german)
    variant = Variant(tying="none")
    save_npz(tmp_path / "opus.npz", arrays_of(variant, sizes), options_of(variant, sizes))

    config = load(tmp_path, GERMAN_TO_ENGLISH).model.config

    assert (config.source_vocab_size, config.target_vocab_size) == (sizes[1] + 1, sizes[1] + 1)


def _with_own_ids(folder: Path, tokenizers: Tokenizers) -> Original:
    folder.mkdir()
    (folder / "vocab.deen.spm").write_bytes(tokenizers.own)
    size = sentencepiece.SentencePieceProcessor(model_proto=tokenizers.own).vocab_size()
    variant = Variant(autoregression="rnn")
    arrays, options = arrays_of(variant, (size, size)), options_of(variant, (size, size))
    save_npz(folder / "model.npz", arrays, options)
    original = load(folder, GERMAN_TO_ENGLISH)
    model = Transformer.from_weights(original.model)
    found = model(*pad([[5, 6, 0]], size), torch.tensor([[size]]))
    expected = Reference(arrays, options).log_probabilities([5, 6, 0], [0])
    assert model.logits(found).log_softmax(-1)[0, 0, :size].tolist() == pytest.approx(
        expected[0].tolist(), abs=1e-4
    )
    return original


def test_a_sentencepiece_model_can_be_the_vocabulary(tmp_path: Path, tokenizers: Tokenizers) -> None:
    original = _with_own_ids(tmp_path / "student", tokenizers)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizers.own)
    text = real_text("de")

    tokenizer = _tokenizer(original.source_tokenizer, tmp_path)

    assert (original.model.config.eos_id, original.model.config.unk_id) == (0, 1)
    assert tokenizer.encode(text) == processor.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == processor.decode(processor.encode(text))
    assert tokenizer.vocab_size == processor.vocab_size() + 1


def test_text_is_not_normalised_before_sentencepiece(written: Written) -> None:
    original = load(written.folder, GERMAN_TO_ENGLISH)

    assert not original.source_tokenizer.normalises
    assert not original.target_tokenizer.normalises


def test_unknown_pieces_get_marians_unknown_id(written: Written, tmp_path: Path) -> None:
    model = train_sentencepiece(real_text("de"), 190, unk_piece="<oov>")
    (written.folder / "source.spm").write_bytes(model)

    tokenizer = _tokenizer(load(written.folder, GERMAN_TO_ENGLISH).source_tokenizer, tmp_path)

    assert tokenizer.unk_id == 1
    assert 1 in tokenizer.encode(["字"])[0]


def test_a_sentencepiece_vocabulary_without_end_of_sentence_is_rejected(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    _with_own_ids(tmp_path / "student", tokenizers)
    model = train_sentencepiece(real_text("de"), 190, eos_id=-1)
    (tmp_path / "student" / "vocab.deen.spm").write_bytes(model)

    assert "vocab.deen.spm has no end-of-sentence piece" in rejection_of(tmp_path / "student")


def test_decoder_yml_assigns_source_and_target_vocabulary(tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path, Variant(tying="none"), tokenizers)
    (tmp_path / "opus.src.vocab.yml").rename(tmp_path / "one.yml")
    (tmp_path / "opus.trg.vocab.yml").rename(tmp_path / "two.yml")
    (tmp_path / "decoder.yml").write_text("vocabs:\n- /training/one.yml\n- two.yml\n", encoding="utf8")

    original = load(tmp_path, GERMAN_TO_ENGLISH)

    assert original.source_tokenizer.vocabulary is not None
    assert original.target_tokenizer.vocabulary is not None
    assert list(original.source_tokenizer.vocabulary[2:]) == written.source_pieces[2:]
    assert list(original.target_tokenizer.vocabulary[2:-1]) == written.target_pieces[2:]


def test_control_bytes_are_never_produced(written: Written, tokenizers: Tokenizers) -> None:
    pieces = pieces_of(tokenizers.both)
    pieces[10], pieces[20], pieces[30] = "<0x0A>", "<0x1F>", "<0x20>"
    save_vocabulary(written.folder / "opus.spm32k-spm32k.vocab.yml", pieces)

    assert load(written.folder, GERMAN_TO_ENGLISH).model.config.suppressed_ids == (1, 10, 20)

    (written.folder / "decoder.yml").write_text("allow-special: true\n", encoding="utf8")
    assert load(written.folder, GERMAN_TO_ENGLISH).model.config.suppressed_ids == (1,)
