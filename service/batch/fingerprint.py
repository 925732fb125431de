"""What translations depend on beside the texts, so that a run goes on with nothing but what it began with."""

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
"""Of a manifest's digest."""


def translator_facts(
    router: Router,
    pairs: Collection[Pair],
    options: DecodingOptions,
    model: str | None = None,
    providers: str = "cpu",
) -> dict[str, str]:
    """Bundles, versions and options, by names for people.

    Args:
        router: what will translate.
        pairs: languages of all files.
        options: wishes for the search.
        model: the only bundle to use.
        providers: what graphs run on, as the settings have it.

    Raises:
        UnsupportedPair: nothing serves a pair.
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
    """Of a manifest, which has digests of all the bundle's files: another one for any other bundle."""
    told = json.dumps(asdict(manifest), sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:SHOWN_DIGITS]


def _engine(providers: str) -> str:
    versions = (
        f"{name} {installed_version(name)}" for name in ("dragoman", "onnxruntime", "onnxruntime-gpu")
    )
    return f"{', '.join(versions)} on {providers}"
