"""Bundled models by name, how much a translator runs at once, and manifests that fit no graphs."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman import BundleError, Translator
from dragoman.bundled import bundled_models, find_bundle
from dragoman.cpus import available_cpus
from dragoman.loading import GPU_CAPACITY, scheduler_options
from dragoman.providers import Kernels, SessionOptions
from dragoman.scheduling.policy import Capacity
from tests.service.conftest import TINY_BUNDLE


def test_a_name_is_a_bundled_model_unless_there_is_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_bundle("de-en") == bundled_models() / "de-en"
    assert find_bundle("models/de-en") == Path("models/de-en")
    assert find_bundle("none") == Path("none")
    (tmp_path / "de-en").mkdir()
    assert find_bundle("de-en") == Path("de-en")


GPU = SessionOptions(providers=("cuda", "cpu"))


def test_cpus_are_shared_out_among_replicas_and_a_gpu_is_one() -> None:
    assert scheduler_options(SessionOptions(), None, 1).replicas == available_cpus()
    assert scheduler_options(SessionOptions(threads=10_000), None, 1).replicas == 1
    assert scheduler_options(GPU, None, 1).replicas == 1


def test_a_replica_of_a_gpu_takes_more_at_once() -> None:
    assert scheduler_options(SessionOptions(), 2, 1).capacity == Capacity()
    assert scheduler_options(GPU, 2, 1).capacity == GPU_CAPACITY


@pytest.mark.parametrize("session", [SessionOptions(), GPU])
def test_chosen_replicas_and_queue_size_apply(session: SessionOptions) -> None:
    options = scheduler_options(session, 3, 17)

    assert (options.replicas, options.queue_size) == (3, 17)
    with pytest.raises(ValueError, match="replicas must be at least 1, not 0"):
        scheduler_options(session, 0, 17)


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
