"""Plural categories in keys: `file_one` and `file_other` of i18next, `one` and `other` of Rails."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from service.formats.entries import FileOptions
from service.formats.plural_forms import missing_members

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
