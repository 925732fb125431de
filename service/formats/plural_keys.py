"""Plural categories in keys: `file_one` and `file_other` of i18next, `one` and `other` of Rails."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from service.formats.plural_forms import missing_categories
from service.text.plural_rules import OTHER

_CATEGORY = "zero|one|two|few|many|other"
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


@dataclass(frozen=True, slots=True)
class PluralLanguages:
    """Languages that determine which categories are missing."""

    source: str
    target: str


def added_keys(names: Sequence[str | None], languages: PluralLanguages) -> Mapping[int, Sequence[AddedKey]]:
    """Return the keys to add to an object, by the index of the key after which they come.

    Args:
        names: keys of the object; None for one that is no message.
        languages: languages of the file.
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
        if OTHER in group and len(group) >= _MIN_CATEGORIES and (added := _added(base, group, languages))
    }


def _added(base: str, group: Mapping[str, int], languages: PluralLanguages) -> list[AddedKey]:
    missing = missing_categories(
        group.keys(), languages.source, languages.target, is_ordinal=base.endswith(_ORDINAL)
    )
    return [AddedKey(f"{base}{category}", group[own]) for category, own in missing.items()]
