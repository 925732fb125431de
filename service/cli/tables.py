"""Tables about bundles and versions on the command line."""

import platform
from collections.abc import Sequence

import typer

from dragoman.bundle import Bundle
from dragoman.cpus import available_cpus
from dragoman.languages import Languages, list_languages
from dragoman.loading import open_reading
from dragoman.routing.memory import size_bytes
from dragoman.routing.routes import describe
from service.models.engine import BundleListing
from service.versions import installed_version


def print_bundles(listings: Sequence[BundleListing]) -> bool:
    """Print a row for each bundle, then the problems; return whether there are none."""
    header = ("NAME", "LANGUAGES", "PRECISION", "SIZE", "VERIFIED")
    print_table([header, *(_bundle_row(listing) for listing in listings)])
    for listing in listings:
        for problem in listing.problems:
            typer.echo(f"{listing.name}: {problem}", err=True)
    return not any(listing.problems for listing in listings)


def print_languages(languages: Languages) -> None:
    """Print a row for each language: whether it is a source, whether it is a target, and its other names."""
    rows = [("LANGUAGE", "FROM", "INTO", "OTHER NAMES")]
    for code in sorted(languages.sources.keys() | languages.targets.keys()):
        sides = [side[code] for side in (languages.sources, languages.targets) if code in side]
        names = dict.fromkeys(name for side in sides for name in side.names)
        rows.append(
            (
                code,
                _yes_or_no(code in languages.sources),
                _yes_or_no(code in languages.targets),
                ", ".join(names),
            )
        )
    print_table(rows)


def print_versions() -> None:
    """Print the versions of the software, and the number of CPUs."""
    print_table(
        [
            ("dragoman", installed_version("dragoman")),
            ("onnxruntime", installed_version("onnxruntime")),
            ("onnxruntime-gpu", installed_version("onnxruntime-gpu")),
            ("python", platform.python_version()),
            ("cpus", str(available_cpus())),
        ]
    )


def print_facts(bundle: Bundle, kernels: str) -> None:
    """Print the facts in a bundle's manifest, and what kernels run the bundle."""
    manifest = bundle.manifest
    sizes, limits, decoding = manifest.sizes, manifest.limits, manifest.decoding
    facts = [
        ("model", manifest.name),
        ("folder", str(bundle.path)),
        ("languages", describe_pairs(manifest.languages)),
        ("precision", manifest.precision),
        ("size", _megabytes(size_bytes(manifest))),
        ("format version", str(manifest.format_version)),
        ("kernels", kernels),
        ("autoregression", manifest.autoregression),
        ("decoder layers", str(sizes.decoder_layers)),
        ("heads", f"{sizes.heads} of size {sizes.head_size}"),
        ("vocabulary", f"{sizes.source_vocab} source, {sizes.target_vocab} target pieces"),
        ("segment limits", f"{limits.max_source_tokens} source, {limits.max_target_tokens} target tokens"),
        ("search", f"beam {decoding.beam_size}, length penalty {decoding.length_penalty:g}"),
        ("early stopping", _yes_or_no(decoding.early_stopping)),
        ("confidence", "calibrated" if manifest.confidence else "not calibrated"),
        ("reads", ", ".join(open_reading(bundle).names) or "texts as they are written"),
        ("licence", manifest.licence),
        *((f"score: {name}", _score(value)) for name, value in manifest.scores.items()),
    ]
    typer.echo()
    print_table(facts)


def _score(value: object) -> str:
    """Return the scores on one test set; the model card has those of other precisions and searches."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {value[name]}" for name in ("bleu", "chrf") if name in value)


def describe_pairs(languages: Languages) -> str:
    """Describe pairs briefly: `de -> en`; `101 languages` or `de, en, fr` if every pair of them is served."""
    if languages.is_single_pair or languages.sources.keys() != languages.targets.keys():
        return describe(languages)
    return list_languages(languages.sources)


def _bundle_row(listing: BundleListing) -> tuple[str, ...]:
    verified = _yes_or_no(not listing.problems)
    if listing.bundle is None:
        return (listing.name, "-", "-", "-", verified)
    manifest = listing.bundle.manifest
    size = _megabytes(size_bytes(manifest))
    return (listing.name, describe_pairs(manifest.languages), manifest.precision, size, verified)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows with their cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _yes_or_no(is_so: bool) -> str:  # noqa: FBT001 -- what is shown, not a mode
    return "yes" if is_so else "no"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
