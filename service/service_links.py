"""Environment variables that look like settings: typing errors, and service links.

Kubernetes describes a service named `dragoman` to every pod of its namespace with DRAGOMAN_SERVICE_HOST,
DRAGOMAN_PORT=tcp://10.0.0.1:8000 and others, as Docker does for linked containers.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

LINK_NAME = re.compile(
    r"(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)", re.IGNORECASE
)
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


def describe_ignored(variables: Mapping[str, str], prefix: str, settings: Sequence[str]) -> str:
    """Return which of the variables with the prefix are ignored, and why; empty if there are none."""
    given = {name: value for name, value in variables.items() if name.upper().startswith(prefix)}
    kept = without_service_links(given)
    known = [name.upper() for name in settings]
    typos, linked = [], []
    for key in sorted(given):
        name = key.upper().removeprefix(prefix)
        if name in known and key in kept:
            continue
        variable = key if key.isprintable() else ascii(key)  # a log is no place for control characters
        if LINK_NAME.fullmatch(name):
            linked.append(variable)
        else:
            nearest = get_close_matches(name, known, n=1, cutoff=0)[0]
            typos.append(f"{variable} (the nearest setting is {prefix}{nearest})")
    problems = [f"{', '.join(typos)}: unknown"] if typos else []
    if linked:
        problems.append(
            f"{', '.join(linked)}: set by Kubernetes or Docker for a service with this name; to set the port "
            "to listen on, use --port or a settings file, or disable enableServiceLinks in the pod"
        )
    return "; ".join(problems)
