"""SentencePiece model rebuilt from tokenizer.json.

It is rebuilt only if it segments every text like the original. For BPE (Sennrich et al. 2016,
arXiv:1508.07909), the merges must be all pairs of pieces that form a piece, in the order of the pieces that
they form, because SentencePiece only knows the order of pieces. Unigram models (Kudo 2018, arXiv:1804.10959)
consist of scores only.
"""

import base64
import binascii
import io
import reprlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from export.huggingface.fast import FAST_FILE, FastTokenizer

ModelProto: Any = sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined] # created at import

SPACES = (
    "\t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode white space other than the space itself."""

UNKNOWN = "<unk>"
FIRST_PIECES = ((UNKNOWN, "UNKNOWN"), ("<s>", "CONTROL"), ("</s>", "CONTROL"))
BPE_OPTIONS = ("byte_fallback", "ignore_merges", "dropout", "continuing_subword_prefix", "end_of_word_suffix")
"""Options that SentencePiece does not have, or not in the same form."""
SPACE_PATTERNS = ({"Regex": " {2,}"}, {"String": "  "})
PAIR = 2


def rebuild_model(fast: FastTokenizer, special: frozenset[str], problems: list[str]) -> bytes | None:
    """Return a SentencePiece model that segments like `fast`; None, with problems added, if none does.

    Args:
        fast: tokenizer from `read_fast`.
        special: tokens that text never becomes.
        problems: problems are added here.
    """
    found: list[str] = []
    pieces = sorted(fast.ids.keys() - special - {UNKNOWN}, key=fast.ids.__getitem__)
    kind = fast.model.get("type")
    if kind == "BPE":
        scores = _rank_pieces(fast.model, pieces, found)
    elif kind == "Unigram":
        scores = _read_scores(fast.model, found)
    else:
        found.append(f"model type {kind} is not supported")
        scores = {}
    charsmap = _read_normaliser(fast.normaliser, found)
    splits_at_all_spaces = _read_splits(fast.splitter, found)
    problems += [f"{FAST_FILE}: {problem}" for problem in found]
    if found:
        return None
    model = ModelProto()
    for piece, what in FIRST_PIECES:
        model.pieces.add(piece=piece, score=0.0, type=what)
    for piece in pieces:
        model.pieces.add(piece=piece, score=scores[piece], type="NORMAL")
    model.trainer_spec.model_type = str(kind).upper()
    model.trainer_spec.vocab_size = len(model.pieces)
    normaliser = model.normalizer_spec
    normaliser.name = "precompiled"
    normaliser.add_dummy_prefix = True
    normaliser.remove_extra_whitespaces = True
    normaliser.escape_whitespaces = True
    if charsmap is not None:
        normaliser.precompiled_charsmap = charsmap
    elif splits_at_all_spaces:
        normaliser.precompiled_charsmap = _compile_space_rules()
    encoded: bytes = model.SerializeToString()
    return encoded


def _rank_pieces(model: Mapping[str, Any], pieces: list[str], problems: list[str]) -> dict[str, float]:
    """Return the scores of a BPE model's pieces; its merges must be those that its pieces imply."""
    problems += [
        f"{option} {model[option]!r} is not supported" for option in BPE_OPTIONS if model.get(option)
    ]
    listed, known = model.get("merges"), set(pieces)
    merges: list[tuple[str, str]] = []
    ranks: dict[str, int] = {}
    previous = ""
    for merge in listed if isinstance(listed, list) else [None]:
        pair = _pair_of(merge)
        if pair is None:
            problems.append("merges must be pairs of pieces")
            return {}
        piece = pair[0] + pair[1]
        if piece != previous and piece in ranks:
            problems.append(f"merges of {piece!r} are not consecutive, which SentencePiece cannot represent")
            return {}
        ranks.setdefault(piece, len(merges))
        merges.append(pair)
        previous = piece
    expected = {
        (piece[:cut], piece[cut:])
        for piece in pieces
        for cut in range(1, len(piece))
        if piece[:cut] in known and piece[cut:] in known
    }
    if differing := expected.symmetric_difference(merges):
        left, right = min(differing)
        problems.append(f"the merge of {left!r} and {right!r} does not match the vocabulary")
    return {piece: -float(ranks.get(piece, len(merges))) for piece in pieces}


def _pair_of(merge: object) -> tuple[str, str] | None:
    """Return the two pieces of a merge: a list in newer files, a string with a space in older ones."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == PAIR and all(isinstance(part, str) for part in parts):
        return parts[0], parts[1]
    return None


def _read_scores(model: Mapping[str, Any], problems: list[str]) -> dict[str, float]:
    """Return the scores of a unigram model's pieces; SentencePiece prefers higher ones."""
    if model.get("byte_fallback"):
        problems.append("byte_fallback is not supported")
    listed: dict[str, Any] = dict(model["vocab"]) if isinstance(model.get("vocab"), list) else {}
    scores = {piece: float(score) for piece, score in listed.items() if type(score) in (int, float)}
    if not listed or len(scores) < len(listed):
        problems.append("the vocabulary has no scores")
    return scores


def _read_normaliser(normaliser: object, problems: list[str]) -> bytes | None:
    """Return SentencePiece's compiled rules; other steps must be what SentencePiece does by itself."""
    charsmap: bytes | None = None
    for step in _steps(normaliser, "normalizers") if normaliser is not None else ():
        kind = step.get("type")
        if kind == "Precompiled":
            try:
                charsmap = base64.b64decode(str(step.get("precompiled_charsmap")), validate=True)
            except binascii.Error as error:
                problems.append(f"precompiled_charsmap is not base64: {error}")
        elif kind != "Strip" and not (kind == "Replace" and step.get("pattern") in SPACE_PATTERNS):
            problems.append(f"normaliser {reprlib.repr(step)} is not supported")
    return charsmap


def _read_splits(splitter: object, problems: list[str]) -> bool:
    """Return whether words end at all Unicode white space before spaces become SentencePiece's mark."""
    steps = _steps(splitter, "pretokenizers")
    kinds = [step.get("type") for step in steps]
    if kinds not in (["Metaspace"], ["WhitespaceSplit", "Metaspace"]):
        problems.append(f"pre-tokeniser {reprlib.repr(splitter)} is not supported")
        return False
    if steps[-1].get("prepend_scheme", "always") == "never" or steps[-1].get("add_prefix_space") is False:
        problems.append("a tokeniser without a space before the first word is not supported")
    return len(steps) > 1


def _steps(step: object, field: str) -> list[dict[str, Any]]:
    """Return the steps of a sequence, or a single step; a step that is not an object has no fields."""
    listed = step.get(field) if isinstance(step, dict) and field in step else [step]
    return [each if isinstance(each, dict) else {} for each in listed] if isinstance(listed, list) else [{}]


def _compile_space_rules() -> bytes:
    """Return rules that make spaces of all white space; SentencePiece compiles rules only in training."""
    trained = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch:
        rules = Path(scratch) / "rules.tsv"
        rules.write_text("".join(f"{ord(space):X}\t20\n" for space in SPACES), encoding="utf8")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b"]),
            model_writer=trained,
            model_type="char",
            vocab_size=8,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rules),
            minloglevel=2,
        )
    model = ModelProto()
    model.ParseFromString(trained.getvalue())
    compiled: bytes = model.normalizer_spec.precompiled_charsmap
    return compiled
