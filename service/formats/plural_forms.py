"""Plural forms of gettext catalogues, by the header or the target language; categories of other files.

Categories may be in keys: `file_one` and `file_other` of i18next, `one` and `other` of Rails.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from gettext import c2py
from typing import NamedTuple, TypeVar

from service.formats.entries import FileFormatError, FileOptions
from service.text.plural_rules import CATEGORIES, OTHER, gettext_plural_forms, plural_rules

Member = TypeVar("Member")

_PLURAL = re.compile(r"nplurals\s*=\s*(\d{1,3})\s*;\s*plural\s*=\s*([^;]+)")
_HEADER = re.compile(r"\s*msgid\s+\"\"\s*$")
_TEXT = re.compile(r"\s*msgstr\s+\"")
_FIELD = re.compile(r"\s*\"Plural-Forms:", re.IGNORECASE)
_CONTINUED = re.compile(r"\s*\"")
_ENDS_FIELD = re.compile(r"\\n\"\s*$")


@dataclass(frozen=True, slots=True)
class PluralForms:
    """Plural forms of a language."""

    number: int
    singular_form: int
    """Number of the form for n = 1."""


def read_plural_forms(field: str) -> PluralForms | None:
    """Return the plural forms of a header; None if nobody filled them in.

    Raises:
        FileFormatError: the expression cannot be read.
    """
    found = _PLURAL.search(field)
    if found is None:
        return None
    try:
        return PluralForms(int(found[1]), c2py(found[2].strip())(1))
    except (ValueError, ZeroDivisionError, RecursionError) as error:
        raise FileFormatError(f"its header's plural forms cannot be read: {error}; fix the header") from error


def is_form_of_singular(form: int, plural_forms: PluralForms | None) -> bool:
    """Return whether a form translates the singular; the only form of a language translates the plural."""
    if plural_forms is None:
        return form == 0
    return form == plural_forms.singular_form and plural_forms.number > 1


def set_plural_forms(lines: list[str], target: str) -> PluralForms | None:
    """Write the target language's plural forms to the header among the lines of a catalogue.

    Args:
        lines: lines with their ends; their number stays the same.
        target: BCP-47 code of the language.

    Returns:
        The plural forms; None if the language's are unknown, or there is no header.
    """
    value = gettext_plural_forms(target)
    start = next((i for i, line in enumerate(lines) if _HEADER.match(line)), None)
    if value is None or start is None:
        return None
    at = next((i for i in range(start + 1, len(lines)) if _TEXT.match(lines[i])), None)
    if at is None:
        return None
    line_end = lines[at][len(lines[at].rstrip("\r\n")) :] or "\n"
    field = f'"Plural-Forms: {value}\\n"{line_end}'
    first = at + 1
    while first < len(lines) and _CONTINUED.match(lines[first]) and not _FIELD.match(lines[first]):
        first += 1
    if first == len(lines) or not _FIELD.match(lines[first]):
        lines[at] = f"{lines[at].rstrip()}{line_end}{field}"
        return read_plural_forms(value)
    last = first
    while not _ENDS_FIELD.search(lines[last]) and last + 1 < len(lines) and _CONTINUED.match(lines[last + 1]):
        last += 1
    lines[first : last + 1] = [field, *([""] * (last - first))]
    return read_plural_forms(value)


def missing_members(
    members: Mapping[str, Member], source: str, target: str, *, is_ordinal: bool = False
) -> dict[str, Member]:
    """Return the plural categories that a text lacks in its target language, each with the one to translate.

    Args:
        members: what the text has for each category; without `other`, nothing is missing.
        source: BCP-47 code of its language.
        target: BCP-47 code of the language to translate into.
        is_ordinal: whether they are of ordinal numbers.
    """
    if OTHER not in members:
        return {}
    rules = plural_rules(source, is_ordinal=is_ordinal)
    samples = plural_rules(target, is_ordinal=is_ordinal).samples
    return {
        category: members.get(rules.category(sample), members[OTHER])
        for category, sample in samples.items()
        if category not in members
    }


_CATEGORY = "|".join(CATEGORIES)
_SUFFIX = re.compile(rf"(.*_)({_CATEGORY})")
_BARE = re.compile(_CATEGORY)
_ORDINAL = "ordinal_"
_MIN_CATEGORIES = 2
"""A lone `payment_other` may well be no plural."""


class AddedKey(NamedTuple):
    """A key that the target language needs."""

    name: str
    text_of: int
    """Index of the message to translate for it."""


def added_keys(names: Sequence[str | None], options: FileOptions) -> Mapping[int, Sequence[AddedKey]]:
    """Return the keys to add to an object, by the index of the key after which they come.

    Args:
        names: keys of the object; None for one that is no message.
        options: the languages determine which categories are missing.
    """
    groups: dict[str, dict[str, int]] = {}
    is_bare = all(name is not None and _BARE.fullmatch(name) for name in names)
    for i, name in enumerate(names):
        found = None if name is None else _SUFFIX.fullmatch(name)
        if found is not None:
            groups.setdefault(found[1], {})[found[2]] = i
        elif is_bare and name is not None:
            groups.setdefault("", {})[name] = i
    return {
        max(group.values()): added
        for base, group in groups.items()
        if len(group) >= _MIN_CATEGORIES and (added := _added(base, group, options))
    }


def _added(base: str, group: Mapping[str, int], options: FileOptions) -> list[AddedKey]:
    missing = missing_members(group, options.source, options.target, is_ordinal=base.endswith(_ORDINAL))
    return [AddedKey(f"{base}{category}", member) for category, member in missing.items()]
