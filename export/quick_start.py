"""Quick start of a bundle: one command, and a few lines of Python."""

import json
import shlex
from collections.abc import Mapping

from dragoman.languages import SourceLanguage, find_language
from dragoman.manifest import Manifest
from dragoman.types import Pair
from export.samples import BUILT_IN

PLACEHOLDER_SENTENCE = "..."
"""Placeholder for a sentence in a language without a built-in one."""


def quick_start(manifest: Manifest) -> str:
    """Return Markdown: a shell command and Python that translate a sentence with a bundle in models/."""
    pair = next(manifest.languages.pairs())
    sentence = _sentence(pair, manifest.languages.sources)
    folder = f"models/{manifest.name}"
    command = f"echo {shlex.quote(sentence)} | dragoman translate --model {shlex.quote(folder)}"
    names, pair_argument = "Translator", ""
    if not manifest.languages.is_single_pair:
        command += f" --source {pair.source} --target {pair.target}"
        names, pair_argument = (
            "Pair, Translator",
            f", pair=Pair({_quoted(pair.source)}, {_quoted(pair.target)})",
        )
    return "\n".join(
        [
            "```sh",
            command,
            "```",
            "",
            "```python",
            f"from dragoman import {names}",
            "",
            f"translator = Translator.open({_quoted(folder)})",
            f"print(translator.translate({_quoted(sentence)}{pair_argument}).text)",
            "```",
        ]
    )


def _sentence(pair: Pair, sources: Mapping[str, SourceLanguage]) -> str:
    for path in sorted(BUILT_IN.glob("*.txt")):
        if find_language(path.stem, sources) == pair.source:
            return path.read_text(encoding="utf8").splitlines()[0]
    return PLACEHOLDER_SENTENCE


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
