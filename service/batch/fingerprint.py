"""Facts that translations depend on besides the texts. A resumed run must have the same facts."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict

from dragoman.decoding.options import DecodingOptions
from dragoman.manifest import Manifest
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.versions import installed_version

SHOWN_DIGITS = 16
"""Number of hexadecimal digits of a manifest's digest."""


def translator_facts(
    router: Router,
    pairs: Collection[Pair],
    options: DecodingOptions,
    model: str | None = None,
    providers: str = "cpu",
) -> dict[str, str]:
    """Return bundles, versions and options, each under a readable name.

    Args:
        router: router that will translate.
        pairs: languages of all files.
        options: decoding options.
        model: the only bundle to use.
        providers: execution providers of the graphs, as in the settings.

    Raises:
        UnsupportedPair: no model serves a pair.
        InputError: there is no such model.
    """
    manifests = {known.offer.name: known.manifest for known in router.models()}
    facts = {
        "engine": _engine(providers),
        "decoding": json.dumps(asdict(options), sort_keys=True, default=str),
    }
    for pair in sorted(set(pairs)):
        route = None if pair.source == pair.target else router.route(*pair, model)
        names = [] if route is None else [step.offer.name for step in route.steps]
        bundles = [f"{name} (manifest {manifest_digest(manifests[name])})" for name in names]
        facts[f"bundles of {pair}"] = " then ".join(bundles) or "none, as nothing is to be done"
    return facts


def manifest_digest(manifest: Manifest) -> str:
    """Return a digest that identifies the bundle, as its manifest has digests of all its files."""
    manifest_json = json.dumps(asdict(manifest), sort_keys=True, default=str)
    return hashlib.sha256(manifest_json.encode()).hexdigest()[:SHOWN_DIGITS]


def _engine(providers: str) -> str:
    versions = (
        f"{name} {installed_version(name)}" for name in ("dragoman", "onnxruntime", "onnxruntime-gpu")
    )
    return f"{', '.join(versions)} on {providers}"
