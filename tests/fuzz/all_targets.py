"""Every target there is."""

from collections.abc import Mapping

from tests.fuzz import format_targets, http_targets, markup_targets, reader_targets, text_targets
from tests.fuzz.target import Target

ALL: Mapping[str, Target] = {
    target.name: target
    for module in (text_targets, markup_targets, format_targets, reader_targets, http_targets)
    for target in module.TARGETS
}
