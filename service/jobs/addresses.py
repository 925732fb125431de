"""Check of webhook addresses: only the public internet, unless the operator allows others.

A host name is resolved once, all its addresses are checked, and the connection goes to a checked address, so
that a name that resolves differently a moment later (DNS rebinding) gains nothing.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from service.jobs.errors import AddressRejected

MAX_URL_LENGTH = 2000
PORTS = {"http": 80, "https": 443}
MAX_HOST_LENGTH = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
"""Label of a host name: https://www.rfc-editor.org/info/rfc1123, plus underscores, which some names have."""
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""A last label of this form makes the system parse the whole host name as an IPv4 address."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Network whose addresses end with the four bytes of an IPv4 address (https://www.rfc-editor.org/info/rfc6052)."""

_NOT_PUBLIC_IPV4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
"""Networks that are not the public internet: https://www.iana.org/assignments/iana-ipv4-special-registry. The
`is_global` of Python depends on its version."""
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
"""All addresses that are assigned for global unicast."""
_NOT_PUBLIC_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""The same within it: https://www.iana.org/assignments/iana-ipv6-special-registry. Tunnels to an IPv4 address
(Teredo in 2001::/32, 6to4 in 2002::/16) are among them."""

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class Peer(NamedTuple):
    """An address to connect to."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    """A URL, split into the parts that a request needs."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query."""

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"


def parse_webhook_url(url: str) -> WebhookUrl:
    """Parse the URL of a webhook.

    Raises:
        AddressRejected: no webhook can be sent to this URL.
    """
    if len(url) > MAX_URL_LENGTH or not url.isascii() or not url.isprintable() or " " in url:
        problem = f"must be a URL of at most {MAX_URL_LENGTH} printable ASCII characters without spaces"
        raise AddressRejected(problem)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise AddressRejected(f"is not a URL: {error}") from error
    if parts.scheme not in PORTS or not host:
        raise AddressRejected("must begin with https:// or http:// and name a host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise AddressRejected("must have no user, no password and no fragment")
    _check_host(host)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookUrl(parts.scheme, host, PORTS[parts.scheme] if port is None else port, target)


def resolve_peer(url: WebhookUrl, *, allows_private: bool) -> Peer:
    """Resolve a URL's host and return an address that may be connected to.

    Raises:
        AddressRejected: one of its addresses is not public, or the host name cannot be resolved at all.
        OSError: the host has no address at the moment.
    """
    try:
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise AddressRejected("names a host that cannot be resolved") from error
    addresses = [str(address[0]) for *_, address in found]
    if not allows_private:
        for address in addresses:
            require_public(address)
    return Peer(addresses[0], url.port)


def require_public(address: str) -> None:
    """Raise AddressRejected for an address that is private, loopback, link-local or otherwise not public."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if not _is_public(_reached_address(parsed)):
        raise AddressRejected("must have a public internet address")


def reject_private_literal(url: WebhookUrl) -> None:
    """Raise AddressRejected for a host that is not public by its spelling alone, without a look-up."""
    host = url.host.removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        raise AddressRejected("must have a public internet address")
    address = _parse_literal(host)
    if address is not None:  # names are resolved when the webhook is sent
        require_public(str(address))


def _check_host(host: str) -> None:
    """Raise AddressRejected for a host that is neither an address nor a name that can be resolved."""
    if _parse_literal(host) is not None:
        return
    labels = host.removesuffix(".").split(".")
    if len(host) > MAX_HOST_LENGTH or not all(map(_LABEL.fullmatch, labels)):
        raise AddressRejected(
            "has an invalid host name; each label must have 1 to 63 letters, digits and hyphens (punycode "
            f"for other letters), and the name at most {MAX_HOST_LENGTH} characters"
        )
    if _NUMBER.fullmatch(labels[-1]):
        raise AddressRejected(
            "has an invalid IPv4 address; write four numbers from 0 to 255, separated by dots"
        )


def _parse_literal(host: str) -> IpAddress | None:
    """Return the host as an address; None if it is a name."""
    try:
        return ipaddress.ip_address(host.removesuffix("."))
    except ValueError:
        return None


def _is_public(address: IpAddress) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_IPV4)
    return address in _PUBLIC_IPV6 and not any(address in network for network in _NOT_PUBLIC_IPV6)


def _reached_address(address: IpAddress) -> IpAddress:
    """Return the address that a packet to this one reaches: it may be an IPv4 address inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return ipaddress.IPv4Address(address.packed[-4:]) if address in _NAT64 else address
