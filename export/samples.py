"""Source text that a bundle is measured on: to calibrate it, and to compare it with its original."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.languages import Languages, find_language
from dragoman.types import Pair
from export.original import ImportRejectedError

BUILT_IN = Path(__file__).parent / "sentences"


@dataclass(frozen=True, slots=True)
class Text:
    """Sentences, and the pair they are translated for."""

    pair: Pair
    path: Path

    def lines(self) -> list[str]:
        """Those that are not blank."""
        return [line for line in self.path.read_text(encoding="utf8").splitlines() if line.strip()]


def choose_texts(languages: Languages, given: Path | None, name: str) -> list[Text]:
    """Which text for which pair.

    A given file is in the first source language, for the first target language that is another one. Without
    one, each built-in file is taken whose language is among the sources.

    Args:
        languages: of the bundle.
        given: a sentence a line.
        name: of the model, for errors.

    Raises:
        ImportRefusedError: the file is not there, or nothing built in fits.
    """
    if given is not None:
        if not given.is_file():
            raise ImportRejectedError(name, (f"{given} not found",))
        return [Text(next(languages.pairs()), given)]
    built_in = {path.stem: path for path in sorted(BUILT_IN.glob("*.txt"))}
    texts: list[Text] = []
    for language, path in built_in.items():
        source = find_language(language, languages.sources)
        target = _target_for(source, languages, [other for other in built_in if other != language])
        if source is not None and target is not None:
            texts.append(Text(Pair(source, target), path))
    if not texts:
        problem = (
            f"no text in its source languages is built in (there is {', '.join(built_in)}); give --sentences"
            f" FILE with 200 or more lines of {next(iter(languages.sources))}"
        )
        raise ImportRejectedError(name, (problem,))
    return texts


def _target_for(source: str | None, languages: Languages, preferred: Sequence[str]) -> str | None:
    """One of the preferred targets if there is any, else the first that is not the source."""
    if source is None:
        return None
    targets = [pair.target for pair in languages.pairs() if pair.source == source]
    wanted = (find_language(language, languages.targets) for language in preferred)
    return next((target for target in wanted if target in targets), next(iter(targets), None))
