"""Terms that a command gets: from a glossary file and from options."""

from dataclasses import dataclass
from pathlib import Path

from dragoman.terms import Term, Terminology
from dragoman.types import Pair
from service.glossaries.entries import EntryCollector
from service.glossaries.files import format_of, read_glossary_file


@dataclass(frozen=True, slots=True)
class TermOptions:
    """The options of a command about terms."""

    glossary: Path | None = None
    """CSV, TSV or TBX file."""
    terms: tuple[str, ...] = ()
    """Each `SOURCE=TARGET`, or `SOURCE` to keep the words. Repeated sources allow each of their targets."""

    def read(self, pair: Pair) -> Terminology | None:
        """Return the terms for a language pair, of which the options' own take precedence; None without any.

        Raises:
            GlossaryInvalid: the file or a term cannot be used; the error names the line.
            OSError: the file cannot be read.
        """
        stored: tuple[Term, ...] = ()
        if self.glossary is not None:
            collector = EntryCollector(str(self.glossary))
            with self.glossary.open("rb") as file:
                stored = read_glossary_file(file, format_of(self.glossary.name, collector), pair, collector)
        given = self._own_terms()
        return Terminology((*stored, *given)) if stored or given else None

    def _own_terms(self) -> tuple[Term, ...]:
        targets: dict[str, list[str]] = {}
        for option in self.terms:
            source, separator, target = option.partition("=")
            targets.setdefault(source.strip(), []).extend([target.strip()] if separator else [])
        collector = EntryCollector("--term")
        for source, found in targets.items():
            collector.add(source, found, f"{source[:40]!r}")
        return collector.collected() if targets else ()


NO_TERMS = TermOptions()
