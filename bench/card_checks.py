"""Checks before a card is written."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.card_measure import EvaluationSet
from bench.provenance import provenance
from dragoman.bundle import Bundle
from dragoman.manifest import Manifest
from export.bundle import KIND_FIELD, SHAPE_FIELD
from export.shortlist.install import ORIGIN_FIELD

FP32 = "fp32"
EXPORT_FIELDS = frozenset({KIND_FIELD, SHAPE_FIELD, ORIGIN_FIELD})
"""Fields of `origin` in which two bundles of one checkpoint may differ."""


class CardError(ValueError):
    """A card cannot be written; the message says what is inconsistent."""


def check_same_model(bundle: Bundle, fp32: Bundle) -> None:
    """Check by the manifests that `fp32` was exported from the same weights as the bundle.

    Raises:
        CardError: they differ; the message says in what.
    """
    ours, theirs = bundle.manifest, fp32.manifest
    if theirs.precision != FP32:
        raise CardError(f"--fp32: {fp32.path} is a bundle in {theirs.precision}, not in {FP32}")
    pairs: Mapping[str, tuple[object, object]] = {
        "languages": (ours.languages, theirs.languages),
        "sizes": (ours.sizes, theirs.sizes),
        "tokenizers": (_tokenizers(ours), _tokenizers(theirs)),
        "origin": (_record(ours), _record(theirs)),
    }
    if differing := [name for name, (one, other) in pairs.items() if one != other]:
        raise CardError(
            f"--fp32: {fp32.path} is not the model of {bundle.path}: {', '.join(differing)} differ; export "
            "both from one checkpoint"
        )


def check_sets(sets: Sequence[EvaluationSet]) -> None:
    """Check the test sets.

    Raises:
        CardError: a name occurs twice, a set is empty, or its files differ in their number of lines.
    """
    names = [one.name for one in sets]
    for one in sets:
        if names.count(one.name) > 1:
            raise CardError(f"--set {one.name} is there twice")
        sources, references = one.lines()
        if not sources or len(sources) != len(references):
            raise CardError(
                f"--set {one.name}: {len(sources)} source lines, {len(references)} reference lines"
            )


def read_result(path: Path, bundle: Bundle) -> dict[str, Any]:
    """Read an earlier result of this bundle.

    Raises:
        CardError: the file is no result, or the result of another bundle.
    """
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
        measured = result["provenance"]["bundle_sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise CardError(f"{path} is no result of this command: {error!r}") from error
    if measured != provenance(bundle.path, "").bundle_sha256:
        raise CardError(f"{path} was measured on other files than those of {bundle.path}; measure it anew")
    return result


def _tokenizers(manifest: Manifest) -> list[str]:
    both = (*manifest.source_tokenizer.files, *manifest.target_tokenizer.files)
    return [manifest.files[name].sha256 for name in both]


def _record(manifest: Manifest) -> dict[str, Any]:
    return {name: value for name, value in manifest.origin.items() if name not in EXPORT_FIELDS}
