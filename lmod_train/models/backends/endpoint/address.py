"""Addresses of endpoints: which machine really receives a request, and which images may be sent there."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from lmod_train.core.artifacts.leaving import closed_sources
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Record

Place = Literal["machine", "network", "outside", "unresolved"]
"""Where a machine is: this one, one of the user's network, outside of it, or not known as its name does not resolve."""

_NEAREST_FIRST: Sequence[Place] = ("machine", "network", "outside", "unresolved")

_RANGES: Sequence[tuple[str, Place]] = (
    *((own, "machine") for own in ("127.0.0.0/8", "::1/128", "0.0.0.0/32", "::/128")),
    *((own, "network") for own in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")),
    *((own, "network") for own in ("fc00::/7", "fe80::/10")),
)
"""All others are outside: public ones, those that providers share (100.64.0.0/10), groups, tests, tunnels."""

START_IT = "start the server (launch lines: configs/server), or correct `--model.backend.base_url`"


@dataclass(frozen=True, slots=True)
class Route:
    """The way of requests to a server, judged once by the addresses that are connected to.

    Attributes:
        url: Base URL of the server.
        proxy: URL of the proxy that the user named; empty for none.
        place: Where the furthest machine is that can get the requests.
        addresses: Of the first machine; empty to connect by its name, which is outside.
    """

    url: str
    proxy: str = ""
    place: Place = "outside"
    addresses: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.url} (through the proxy {self.proxy})" if self.proxy else self.url

    def leaves(self) -> bool:
        """Return whether somebody outside the user's network can read the requests.

        Raises:
            LmodError: The name of the server, or of the proxy, does not resolve.
        """
        if self.place == "unresolved":
            name = f"proxy={self.proxy!r}" if self.proxy else f"base_url={self.url!r}"
            raise LmodError(f"{name}: its name does not resolve. No record was sent.\nNext: {START_IT}")
        return self.place == "outside"


def route_to(url: str, proxy: str = "") -> Route:
    """Return the way to a server; names of the user's network are resolved, once.

    A proxy reads what is sent to an http URL, and decides where that to https goes, of which it sees the name alone. As
    it resolves names itself, only numeric addresses behind a proxy of the user's network are in this network.

    Args:
        url: Base URL of the server.
        proxy: URL of the proxy; empty for none.

    Example:
        >>> [route_to(u).place for u in ("http://localhost:8000/v1", "http://2130706433/v1", "http://10.0.0.7/v1")]
        ['machine', 'machine', 'network']
        >>> [route_to(u).place for u in ("https://api.openai.com/v1", "http://134744072/v1", "http://[::ffff:8.8.8.8]/")]
        ['outside', 'outside', 'outside']
        >>> route_to("http://127.0.0.1/v1", "http://proxy.example.org:3128").place
        'outside'
    """
    server = urlsplit(url).hostname or ""
    if not proxy:
        return Route(url, "", *_judged(server))
    between, addresses = _judged(urlsplit(proxy).hostname or "")
    there = _judged(server)[0] if _is_numeric(server) else "outside"
    return Route(url, proxy, max(there, between, key=_NEAREST_FIRST.index), addresses)


def _judged(host: str) -> tuple[Place, tuple[str, ...]]:
    """Return where a machine is, and the addresses that were judged.

    It is in the user's network by its name (numeric, without a dot, or in a domain of such networks) and by all its
    addresses: a public name may lead to a service through an address of the network.
    """
    host = host.removesuffix(".")
    if "." in host and not _is_numeric(host) and not host.endswith((".local", ".internal", ".localhost")):
        return "outside", ()
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return "unresolved", ()
    addresses = tuple(dict.fromkeys(str(address[0]) for *_, address in found))
    return max(map(_place_of, addresses), key=_NEAREST_FIRST.index), addresses


def _is_numeric(host: str) -> bool:
    """Return whether a host is an address in any form that systems resolve as one, such as 127.1 and 0x7f.0.0.1."""
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return bool(host[:1].isdigit() and socket.inet_aton(host))
    except OSError:
        return False


def _place_of(address: str) -> Place:
    known = ipaddress.ip_address(address)
    known = getattr(known, "ipv4_mapped", None) or known
    return next((place for own, place in _RANGES if known in ipaddress.ip_network(own)), "outside")


def checked(url: str, argument: str = "base_url") -> str:
    """Return the URL of a server or proxy without a trailing slash.

    Args:
        url: As it was typed.
        argument: Name of the option.

    Raises:
        BadArgument: It is not an http or https URL, or contains a password or query, which would be stored.
    """
    parts = urlsplit(url.strip())
    try:
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:  # raised for ports
        known = False
    if not known or not url.strip().isascii() or any(c <= " " or c == "\\" for c in url.strip()):
        example, cure = "http://proxy.example.org:3128", "add `--model.backend.proxy U`"
        if argument == "base_url":
            example, cure = "http://localhost:8000/v1", "add `--model.backend.base_url U`"
        raise BadArgument(argument, url, f"a URL such as {example}", cure)
    if parts.username or parts.password or parts.query or parts.fragment:
        expected = "a URL without user, password and query, as it is stored with the run"
        azure = (
            "; of Azure use https://RESOURCE.openai.azure.com/openai/v1" if "azure" in (parts.hostname or "") else ""
        )
        cure = f"remove them, and name the variable of the key by `--model.backend.key_variable`{azure}"
        raise BadArgument(argument, parts.hostname, expected, cure)
    return url.strip().rstrip("/")


def check_encrypted(route: Route, allowed: bool = False) -> None:
    """Refuse to send a key unencrypted to another machine.

    Args:
        route: The way to the server.
        allowed: Whether the user lets the key be sent so within the own network.

    Raises:
        BadArgument: The URL is not https, and the key can be read by another machine: outside the user's network, or
            not allowed.
    """
    if urlsplit(route.url).scheme == "https" or route.place == "machine":
        return
    if route.place != "network":
        expected = "https, as a key is sent to a server outside your network"
        raise BadArgument("base_url", str(route), expected, "use https://")
    if not allowed:
        cure = (
            "use https://; or take the key away (`unset` its variable) if the server needs none; or, if you trust your "
            "network, add `--model.backend.plain_key true`"
        )
        raise BadArgument("base_url", str(route), "https, as a key is sent to another machine", cure)


def check_sources(records: Iterable[Record], root: Path, allowed: Sequence[str], to: str = "a server") -> None:
    """Refuse to send images whose licence does not permit redistribution.

    Args:
        records: Records to send to a server outside the user's network.
        root: The curated folder, whose manifest states which sources may be redistributed.
        allowed: Sources that the user permits to be sent nevertheless.
        to: The server, as the message names it.

    Raises:
        LmodError: An image, or its question, is of a source that is neither redistributable nor allowed.
    """
    closed = closed_sources((r for r in records if r.image), root, allowed)
    if closed:
        raise LmodError(
            f"send_sources={list(allowed)}: images of {', '.join(closed)} would be sent to {to}, outside your "
            f"network, but their licence does not permit redistribution ({root / 'manifest.json'}).\n"
            "Next: use your own server, by its number or a name without a dot (see docs/evaluate.md); or, if your "
            "agreement with the provider of the images allows it, add "
            f"`--model.backend.send_sources '[{', '.join(closed)}]'`"
        )
