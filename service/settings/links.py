"""Environment variables that look like settings: typing errors, and service links.

Kubernetes describes a service named `dragoman` to every pod of its namespace with DRAGOMAN_SERVICE_HOST,
DRAGOMAN_PORT=tcp://10.0.0.1:8000 and others, as Docker does for linked containers.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

LINK_NAME = re.compile(
    r"(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)", re.IGNORECASE
)
SIMILAR = 0.75
"""Similarity (`difflib.SequenceMatcher.ratio`) from which a name is probably a misspelt one."""
LINK_VALUE = re.compile(r"(tcp|udp|sctp)://.+:(\d+)")


def without_service_links(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the variables without those like DRAGOMAN_PORT that hold the address of a service.

    DRAGOMAN_PORT_8000_TCP then holds the same address. Any other value of DRAGOMAN_PORT is a setting.
    """
    by_name = {name.upper(): value for name, value in variables.items()}

    def is_link(name: str, value: str | None) -> bool:
        address = LINK_VALUE.fullmatch(value or "")
        return address is not None and by_name.get(f"{name}_{address[2]}_{address[1]}".upper()) == value

    return {name: value for name, value in variables.items() if not is_link(name, value)}


@dataclass(frozen=True, slots=True)
class UnknownVariable:
    """A variable with the prefix that is no setting."""

    name: str
    """Printable name: a log is no place for control characters."""
    nearest: str
    """Name of the setting that is most like it, in lower case."""
    is_similar: bool
    """Whether it is so much like it that it is probably misspelt."""


def nearest_setting(name: str, settings: Sequence[str]) -> str:
    """Return the name of the setting that is most like a name in lower case."""
    return get_close_matches(name, settings, n=1, cutoff=0)[0]


def unknown_variables(
    variables: Mapping[str, str], prefix: str, settings: Sequence[str]
) -> list[UnknownVariable]:
    """Return the variables with the prefix that are neither a setting nor a service link."""
    known = [name.upper() for name in settings]
    found = []
    for key in sorted(variables):
        name = key.upper().removeprefix(prefix)
        if not key.upper().startswith(prefix) or name in known or LINK_NAME.fullmatch(name):
            continue
        nearest = nearest_setting(name.lower(), settings)
        is_similar = bool(get_close_matches(name.lower(), [nearest], cutoff=SIMILAR))
        variable = key if key.isprintable() else ascii(key)
        found.append(UnknownVariable(variable, nearest, is_similar))
    return found


def describe_misspelt(
    variables: Mapping[str, str], prefix: str, settings: Sequence[str], security: Collection[str]
) -> str:
    """Return which variables are probably misspelt settings of `security`; empty if there are none."""
    problems = [
        f"{each.name} is not a setting; did you mean {prefix}{each.nearest.upper()}?"
        for each in unknown_variables(variables, prefix, settings)
        if each.is_similar and each.nearest in security
    ]
    return "; ".join([*problems, "correct the name, or remove the variable"] if problems else [])


def describe_ignored(variables: Mapping[str, str], prefix: str, settings: Sequence[str]) -> str:
    """Return which of the variables with the prefix are ignored, and why; empty if there are none."""
    given = {name: value for name, value in variables.items() if name.upper().startswith(prefix)}
    kept = without_service_links(given)
    known = [name.upper() for name in settings]
    typos = [
        f"{each.name} (the nearest setting is {prefix}{each.nearest.upper()})"
        for each in unknown_variables(given, prefix, settings)
    ]
    linked = [
        key if key.isprintable() else ascii(key)
        for key in sorted(given)
        if LINK_NAME.fullmatch(name := key.upper().removeprefix(prefix))
        and not (name in known and key in kept)
    ]
    problems = [f"{', '.join(typos)}: unknown"] if typos else []
    if linked:
        problems.append(
            f"{', '.join(linked)}: set by Kubernetes or Docker for a service with this name; to set the port "
            "to listen on, use --port or a settings file, or disable enableServiceLinks in the pod"
        )
    return "; ".join(problems)
