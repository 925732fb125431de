"""Count the short texts whose language is detected, and that are translated into the other language.

    python -m bench.detection models --words de tests/detection/unseen_de.txt \
        --words en tests/detection/unseen_en.txt --output bench/results/detection-words.json

Files have a word or a greeting on each line. A text that seems to be in the target language stays as it is.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.command import Command, Words, show
from dragoman import Router
from dragoman.routing.routes import Routes
from service.translation.detection import detect
from service.translation.source_language import resolve_source


def measure_words(texts: Sequence[str], language: str, routes: Routes) -> dict[str, Any]:
    """Return how many texts of a language are taken for it, and how many are translated into all others."""
    served = sorted({*routes.sources(), *routes.targets()})
    wrong = [text for text in texts if detect(text, served)[0].language != language]
    left = [
        text
        for text in texts
        for target in routes.targets()
        if target != language and resolve_source(text, target, None, routes).language != language
    ]
    return {
        "language": language,
        "texts": len(texts),
        "detected": round(1 - len(wrong) / len(texts), 4),
        "translated": round(1 - len(left) / len(texts), 4),
        "wrong": wrong,
        "not_translated": left,
    }


def main() -> None:
    words = Words(("LANGUAGE", "FILE"))
    command = Command("detection", __doc__, {"models folder with bundles": Path, "--words": words})
    arguments = command.parse()
    with Router.open(arguments.models) as router:
        rows = [
            measure_words(Path(file).read_text(encoding="utf-8").splitlines(), language, router.routes)
            for language, file in arguments.words
        ]
    show(rows)
    command.write(arguments.models / "de-en", {"words": rows})


if __name__ == "__main__":
    main()
