"""Base of the readers of XML: expat parses it, loads nothing and adds nothing."""

from collections.abc import Callable, Iterable
from xml.parsers import expat

MAX_DEPTH = 1000
"""Maximum nesting of elements."""
MAX_NAME_CHARACTERS = 1000
"""Maximum length of the name of an element, attribute or namespace: expat repeats it for each element."""
MAX_NAMES = 10_000
"""Maximum number of different names in a document."""
MAX_ATTRIBUTES = 1000
"""Maximum number of attributes of an element, and of declared ones, which expat goes through for each."""
_MAX_SHOWN = 40
"""Maximum number of characters of a name in a message."""
_NO_MEMORY = expat.errors.codes[expat.errors.XML_ERROR_NO_MEMORY]


class XmlReader:
    """Parses a document and rejects what makes it grow; subclasses extend these handlers and add others."""

    def __init__(self, error: Callable[[str], Exception], namespace_separator: str | None = None) -> None:
        """Prepare the parser; without a separator, names keep their prefixes. `error` is what it raises."""
        self.error = error
        self.is_in_doctype = False
        self.depth = self._num_declared = 0
        self._names = set[str]()
        self.parser = parser = expat.ParserCreate("utf-8", namespace_separator)
        parser.namespace_prefixes = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartNamespaceDeclHandler = lambda *names: self._check_lengths(name or "" for name in names)
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartDoctypeDeclHandler = self.start_doctype
        parser.EndDoctypeDeclHandler = self._end_doctype
        parser.EntityDeclHandler = self._reject_entity
        parser.AttlistDeclHandler = self._check_declared

    def parse(self, chunk: bytes, *, is_final: bool, num_before: int = 0) -> None:
        """Parse a part of the document; the first line begins with characters that are not the client's."""
        try:
            self.parser.Parse(chunk, is_final)
        except expat.ExpatError as error:
            if error.code == _NO_MEMORY:
                raise MemoryError from error
            column = 1 + error.offset - (num_before if error.lineno == 1 else 0)
            raise self.error(
                f"not well-formed XML: {expat.ErrorString(error.code)}, line {error.lineno}, column {column};"
                " close every tag, and use only &amp; &lt; &gt; &quot; &apos; and numeric references"
            ) from error

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Check a start tag."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.depth_error(MAX_DEPTH)
        self._check_number(len(attributes), "an element has")
        new = {name, *attributes} - self._names
        self._check_lengths(part for one in new for part in one.split(" "))
        self._names |= new
        if len(self._names) > MAX_NAMES:
            raise self.error(f"it has more than {MAX_NAMES:,} different names; simplify it")

    def end(self, _: str) -> None:
        """Count an end tag."""
        self.depth -= 1

    def start_doctype(self, *_: object) -> None:
        """Note the beginning of a document type declaration."""
        self.is_in_doctype = True

    def depth_error(self, limit: int) -> Exception:
        """Return the error for elements that are nested too deeply."""
        return self.error(f"elements are nested more than {limit} deep; simplify it")

    def _end_doctype(self) -> None:
        self.is_in_doctype = False

    def _reject_entity(self, name: str, *_: object) -> None:
        raise self._declared_error(f"entity {name[:_MAX_SHOWN]!r} is declared")

    def _check_declared(self, element: str, attribute: str, _: str, default: str | None, *__: object) -> None:
        if default is not None:  # expat would add it to each element
            of_element = f"{attribute[:_MAX_SHOWN]!r} of {element[:_MAX_SHOWN]!r}"
            raise self._declared_error(f"attribute {of_element} is declared with a default")
        self._num_declared += 1
        self._check_number(self._num_declared, "its document type declares")

    def _declared_error(self, what: str) -> Exception:
        return self.error(f"{what}, which is not supported; remove the declaration")

    def _check_number(self, num: int, what: str) -> None:
        if num > MAX_ATTRIBUTES:
            raise self.error(f"{what} {num:,} attributes, more than {MAX_ATTRIBUTES:,}; simplify it")

    def _check_lengths(self, names: Iterable[str]) -> None:
        for name in names:
            if (size := len(name)) > MAX_NAME_CHARACTERS:
                limit = f"the limit of a name is {MAX_NAME_CHARACTERS:,}"
                raise self.error(f"{name[:_MAX_SHOWN]!r}... has {size:,} characters; {limit}")
