"""Environment variables that look like settings: typing errors, and service links.

Kubernetes describes a service named `dragoman` to every pod of its namespace with DRAGOMAN_SERVICE_HOST,
DRAGOMAN_PORT=tcp://10.0.0.1:8000 and others, as Docker does for linked containers.
"""

import re
from collections.abc import Collection, Mapping, Sequence
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


def nearest_setting(name: str, settings: Sequence[str]) -> str:
    """Return the name of the setting that is most like a name in lower case."""
    return get_close_matches(name, settings, n=1, cutoff=0)[0]


def unknown_variables(variables: Mapping[str, str], prefix: str, settings: Sequence[str]) -> dict[str, str]:
    """Return the setting nearest to each variable with the prefix that is no setting and no service link."""
    known = [name.upper() for name in settings]
    names = {
        key: key.upper().removeprefix(prefix) for key in sorted(variables) if key.upper().startswith(prefix)
    }
    return {
        key: nearest_setting(name.lower(), settings)
        for key, name in names.items()
        if name not in known and not LINK_NAME.fullmatch(name)
    }


def _printable(variable: str) -> str:
    """Return a name for a log, which is no place for control characters."""
    return variable if variable.isprintable() else ascii(variable)


def describe_misspelt(
    variables: Mapping[str, str], prefix: str, settings: Sequence[str], security: Collection[str]
) -> str:
    """Return which variables are probably misspelt settings of `security`; empty if there are none."""
    problems = [
        f"{_printable(key)} is not a setting; did you mean {prefix}{nearest.upper()}?"
        for key, nearest in unknown_variables(variables, prefix, settings).items()
        if nearest in security
        and get_close_matches(key.upper().removeprefix(prefix).lower(), [nearest], cutoff=SIMILAR)
    ]
    return "; ".join([*problems, "correct the name, or remove the variable"] if problems else [])


def describe_ignored(variables: Mapping[str, str], prefix: str, settings: Sequence[str]) -> str:
    """Return which of the variables with the prefix are ignored, and why; empty if there are none."""
    given = {name: value for name, value in variables.items() if name.upper().startswith(prefix)}
    kept = without_service_links(given)
    known = [name.upper() for name in settings]
    typos = [
        f"{_printable(key)} (the nearest setting is {prefix}{nearest.upper()})"
        for key, nearest in unknown_variables(given, prefix, settings).items()
    ]
    linked = [
        _printable(key)
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
