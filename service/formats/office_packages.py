"""Members of Office Open XML packages by their content type (ECMA-376, part 2)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from zipfile import ZipFile

from service.formats.archives import member_elements
from service.formats.entries import FileFormatError
from service.formats.xml_tree import Name

_CONTENT_TYPES = "[Content_Types].xml"
_OVERRIDE = Name("http://schemas.openxmlformats.org/package/2006/content-types", "Override")
_NUMBER = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class OfficePackage:
    """An archive with the content types of its members."""

    archive: ZipFile
    what: str
    """Kind of document, for messages: `a Word document`."""
    types: Mapping[str, str]
    """Content types in lower case, by member; members of a default type are left out."""

    def members(self, endings: tuple[str, ...]) -> list[str]:
        """Return the members whose content type has one of these endings, `slide2` before `slide10`.

        Raises:
            FileFormatError: such a member is missing.
        """
        found = sorted((name for name, kind in self.types.items() if kind.endswith(endings)), key=_order)
        names = frozenset(self.archive.namelist())
        for name in found:
            if name not in names:
                raise FileFormatError(f"it is not {self.what}: its member {name!r} is missing")
        return found


def read_package(archive: ZipFile, what: str) -> OfficePackage:
    """Read the content types of an archive.

    Raises:
        FileFormatError: the list of them is missing or damaged.
    """
    if _CONTENT_TYPES not in archive.namelist():
        raise FileFormatError(f"it is not {what}: {_CONTENT_TYPES} is missing")
    types = {
        (part.attribute("PartName") or "").removeprefix("/"): (part.attribute("ContentType") or "").lower()
        for part in member_elements(archive, _CONTENT_TYPES, frozenset([_OVERRIDE]))
    }
    return OfficePackage(archive, what, types)


def _order(name: str) -> list[tuple[int, str]]:
    """Return a sort key in which numbers have their numerical order."""
    # Without leading zeros, a longer number is larger.
    parts = enumerate(_NUMBER.split(name))
    return [(len(part.lstrip("0")), part.lstrip("0")) if i % 2 else (0, part) for i, part in parts]
