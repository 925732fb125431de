"""Checks before a card is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import page
from bench.provenance import provenance
from dragoman.bundle import Bundle
from dragoman.manifest import Manifest
from export.model_card import EXPORT_FIELDS

FP32 = "fp32"


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
    parts, others = _identity(ours), _identity(theirs)
    if differing := [name for name in parts if parts[name] != others[name]]:
        raise CardError(
            f"--fp32: {fp32.path} is not the model of {bundle.path}: {', '.join(differing)} differ; export "
            "both from one checkpoint"
        )


def read_result(path: Path, bundle: Bundle) -> dict[str, Any]:
    """Read an earlier result of this bundle.

    Raises:
        CardError: the file is no result, or the result of another bundle.
    """
    try:
        result = page.read_result(path)
        measured = result["provenance"]["bundle_sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise CardError(f"{path} is no result of this command: {error!r}") from error
    if measured != provenance(bundle.path, "").bundle_sha256:
        raise CardError(f"{path} was measured on other files than those of {bundle.path}; measure it again")
    return result


def _identity(manifest: Manifest) -> Mapping[str, object]:
    """Return what all bundles of one checkpoint have in common."""
    tokenizers = (*manifest.source_tokenizer.files, *manifest.target_tokenizer.files)
    return {
        "languages": manifest.languages,
        "sizes": manifest.sizes,
        "tokenizers": [manifest.files[name].sha256 for name in tokenizers],
        "origin": {name: value for name, value in manifest.origin.items() if name not in EXPORT_FIELDS},
    }
