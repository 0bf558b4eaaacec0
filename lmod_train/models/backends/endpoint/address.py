"""Addresses of endpoints, and which images may be sent to them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from lmod_train.core.artifacts.leaving import closed_sources
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import Record


def checked(url: str) -> str:
    """Return a base URL without a trailing slash.

    Raises:
        BadArgument: It is not an http or https URL, or contains a password or query, which would be stored.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadArgument("base_url", url, "a URL such as http://localhost:8000/v1", "add `--model.backend.base_url U`")
    if parts.username or parts.password or parts.query:
        expected = "a URL without user, password and query, as it is stored with the run"
        azure = (
            "; of Azure use https://RESOURCE.openai.azure.com/openai/v1" if "azure" in (parts.hostname or "") else ""
        )
        cure = f"remove them, and name the variable of the key by `--model.backend.key_variable`{azure}"
        raise BadArgument("base_url", parts.hostname, expected, cure)
    return url.strip().rstrip("/")


def is_own(url: str) -> bool:
    """Return whether a server is in the user's own network: this machine, a private address, or a name without a dot.

    Example:
        >>> [is_own(u) for u in ("http://localhost:8000/v1", "http://10.0.0.7/v1", "http://gpu-07:8000/v1")]
        [True, True, True]
        >>> is_own("https://api.openai.com/v1")
        False
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def check_encrypted(url: str, allowed: bool = False) -> None:
    """Refuse to send a key unencrypted to another machine.

    Args:
        url: The server's address.
        allowed: Whether the user lets the key be sent so within the own network.

    Raises:
        BadArgument: The URL is not https, and the server is another machine: outside the user's network, or not
            allowed.
    """
    if urlsplit(url).scheme == "https" or is_this_machine(url):
        return
    if not is_own(url):
        raise BadArgument("base_url", url, "https, as a key is sent to a server outside your network", "use https://")
    if not allowed:
        cure = (
            "use https://; or take the key away (`unset` its variable) if the server needs none; or, if you trust your "
            "network, add `--model.backend.plain_key true`"
        )
        raise BadArgument("base_url", url, "https, as a key is sent to another machine", cure)


def is_this_machine(url: str) -> bool:
    """Return whether a server runs on this machine.

    Example:
        >>> [is_this_machine(u) for u in ("http://localhost:8000/v1", "http://127.0.0.1/v1", "http://gpu-07:8000/v1")]
        [True, True, False]
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_sources(records: Iterable[Record], root: Path, allowed: Sequence[str]) -> None:
    """Refuse to send images whose licence does not permit redistribution.

    Args:
        records: Records to send to a server outside the user's network.
        root: The curated folder, whose manifest states which sources may be redistributed.
        allowed: Sources that the user permits to be sent nevertheless.

    Raises:
        LmodError: An image, or its question, is of a source that is neither redistributable nor allowed.
    """
    closed = closed_sources((r for r in records if r.image), root, allowed)
    if closed:
        raise LmodError(
            f"send_sources={list(allowed)}: images of {', '.join(closed)} would be sent to a server outside your "
            f"network, but their licence does not permit redistribution ({root / 'manifest.json'}).\n"
            "Next: use your own server (see docs/evaluate.md); or, if your agreement with the provider of the "
            f"images allows it, add `--model.backend.send_sources '[{', '.join(closed)}]'`"
        )
