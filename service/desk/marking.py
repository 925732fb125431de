"""Stands in until the markup room is complete."""

from collections.abc import Sequence

from dragoman import Translation
from service.markup.options import MarkupOptions


class MarkedUp:
    blocks: tuple[str, ...] = ()

    def rejoin(self, translated: Sequence[Translation]) -> str:
        raise NotImplementedError


def parse(markup: str, options: MarkupOptions) -> MarkedUp:
    raise NotImplementedError
