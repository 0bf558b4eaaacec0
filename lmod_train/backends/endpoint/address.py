"""Where an endpoint lies, and which images may be sent there."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from lmod_train.errors import BadArgument, LmodError
from lmod_train.types import Record


def checked(url: str) -> str:
    """Return a base URL without the slash at its end.

    Raises:
        BadArgument: It is no URL of http or https, or holds a password or a query, which would be written down with it.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadArgument("base_url", url, "a URL such as http://localhost:8000/v1", "add `--model.backend.base_url U`")
    if parts.username or parts.password or parts.query:
        expected = "a URL without user, password and query: it is written into the run"
        raise BadArgument("base_url", parts.hostname, expected, "remove them, and give a key by `key_variable`")
    return url.strip().rstrip("/")


def is_own(url: str) -> bool:
    """Return whether a server is the user's own: this machine, a private address, or a name without a dot.

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


def check_encrypted(url: str) -> None:
    """Refuse to send a key in clear text outside the user's network.

    Raises:
        BadArgument: The server is not the user's own, and its URL is not of https.
    """
    if not is_own(url) and urlsplit(url).scheme != "https":
        raise BadArgument("base_url", url, "https, as a key is sent to a server outside your network", "use https://")


def check_sources(records: Iterable[Record], root: Path, allowed: Sequence[str]) -> None:
    """Refuse to send images whose licence does not let them be passed on.

    Args:
        records: What is about to be sent to a server that is not the user's own.
        root: The curated folder; its manifest states which sources may be passed on.
        allowed: Sources that the user states may be sent all the same.

    Raises:
        LmodError: A record shows an image of another source.
    """
    free = _free(root) | set(allowed)
    closed = sorted({r.source for r in records if r.image} - free)
    if closed:
        raise LmodError(
            f"send_sources={list(allowed)}: images of {', '.join(closed)} would be sent to a server outside your "
            f"network, and their licence does not let them be passed on ({root / 'manifest.json'}).\n"
            "Next: ask a server of your own (see docs/evaluate.md); or, if your agreement with the provider of the "
            f"images allows it, add `--model.backend.send_sources '[{', '.join(closed)}]'`"
        )


@lru_cache(maxsize=8)
def _free(root: Path) -> frozenset[str]:
    """Return the sources of a curated folder that may be passed on."""
    manifest = json.loads((root / "manifest.json").read_text(encoding="utf-8"))
    stated = manifest.get("sources") or {}
    return frozenset(name for name, source in stated.items() if source.get("redistributable") is True)
