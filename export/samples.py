"""Source text on which a bundle is calibrated, and compared with its original."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.languages import Languages, find_language
from dragoman.types import Pair
from export.original import ImportRejectedError

BUILT_IN = Path(__file__).parent / "sentences"


@dataclass(frozen=True, slots=True)
class SampleText:
    """Sentences, and the language pair to translate them for."""

    pair: Pair
    path: Path

    def lines(self) -> list[str]:
        """Return the lines that are not blank."""
        return [line for line in self.path.read_text(encoding="utf8").splitlines() if line.strip()]


def choose_texts(languages: Languages, sentences_file: Path | None, name: str) -> list[SampleText]:
    """Choose texts and their language pairs.

    A given file is in the first source language, for the first target language other than that. Without one,
    every built-in file is used whose language is a source language of the bundle.

    Args:
        languages: languages of the bundle.
        sentences_file: file with one sentence per line.
        name: name of the model, for errors.

    Raises:
        ImportRejectedError: the file does not exist, or no built-in file fits.
    """
    if sentences_file is not None:
        if not sentences_file.is_file():
            raise ImportRejectedError(name, (f"{sentences_file} not found",))
        return [SampleText(next(languages.pairs()), sentences_file)]
    built_in = {path.stem: path for path in sorted(BUILT_IN.glob("*.txt"))}
    texts: list[SampleText] = []
    for language, path in built_in.items():
        source = find_language(language, languages.sources)
        target = _choose_target(source, languages, [other for other in built_in if other != language])
        if source is not None and target is not None:
            texts.append(SampleText(Pair(source, target), path))
    if not texts:
        problem = (
            f"built-in sample texts (in {', '.join(built_in)}) match no source language; give --sentences"
            f" FILE with 200 or more lines of {next(iter(languages.sources))}"
        )
        raise ImportRejectedError(name, (problem,))
    return texts


def _choose_target(source: str | None, languages: Languages, preferred: Sequence[str]) -> str | None:
    """Return a preferred target if there is one, else the first target other than the source."""
    if source is None:
        return None
    targets = [pair.target for pair in languages.pairs() if pair.source == source]
    wanted = (find_language(language, languages.targets) for language in preferred)
    return next((target for target in wanted if target in targets), next(iter(targets), None))
