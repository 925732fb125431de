"""A bundle whose manifest does not fit its graphs is rejected when it is opened, whatever runs it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman import BundleError, Translator
from dragoman.providers import Kernels
from tests.service.conftest import TINY_BUNDLE

CHANGES: Mapping[str, Mapping[str, Any]] = {
    "fewer layers": {"sizes": {"decoder_layers": 1}},
    "more layers": {"sizes": {"decoder_layers": 9}},
    "other heads": {"sizes": {"heads": 1}},
    "larger heads": {"sizes": {"head_size": 1024}},
    "a larger vocabulary": {"sizes": {"target_vocab": 10**6}},
    "a smaller vocabulary": {"sizes": {"target_vocab": 8}},
    "a smaller source vocabulary": {"sizes": {"source_vocab": 8}},
    "another width": {"sizes": {"width": 8}},
    "another dtype": {"cache_dtype": "float32"},
    "half precision": {"cache_dtype": "float16"},
    "cells": {"autoregression": "ssru"},
    "attention of an rnn": {"autoregression": "gru"},
}


def changed(folder: Path, changes: Mapping[str, Any]) -> Path:
    """A copy of the tiny bundle with another manifest."""
    bundle = folder / "bundle"
    shutil.copytree(TINY_BUNDLE, bundle)
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for name, value in changes.items():
        manifest[name] = {**manifest[name], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return bundle


@pytest.mark.parametrize("kernels", ["auto", "onnxruntime"])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_manifest_that_does_not_fit_the_graphs_is_rejected(
    tmp_path: Path, changes: Mapping[str, Any], kernels: Kernels
) -> None:
    with pytest.raises(BundleError):
        Translator.open(changed(tmp_path, changes), replicas=1, kernels=kernels).close()
