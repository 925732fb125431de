"""What models are refused for, by any importer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from export.original import ImportRejectedError, RequestedLanguages
from export.sources import load_original

GERMAN_TO_ENGLISH = RequestedLanguages(("de",), ("en",))
ANY = RequestedLanguages()


def message_of(error: type[Exception], call: Callable[..., object], *arguments: object) -> str:
    """What a call says when it fails."""
    with pytest.raises(error) as caught:
        call(*arguments)
    return str(caught.value)


def problems_of(folder: Path, wanted: RequestedLanguages = GERMAN_TO_ENGLISH) -> tuple[str, ...]:
    """All reasons why a folder cannot be imported."""
    with pytest.raises(ImportRejectedError) as caught:
        load_original(folder, wanted)
    assert caught.value.origin == str(folder)
    return caught.value.problems


def rejection_of(folder: Path, wanted: RequestedLanguages = GERMAN_TO_ENGLISH) -> str:
    """The whole message of a folder that cannot be imported."""
    return message_of(ImportRejectedError, load_original, folder, wanted)
