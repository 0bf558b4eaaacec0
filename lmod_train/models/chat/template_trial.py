"""Rendering of chat templates by transformers, after one trial in a child process with limits of time and memory.

A chat template is a program, often from others. The sandbox in which transformers renders it keeps it from files and
from Python, but not from endless loops or from ``"A" * 10**10``.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

SECONDS = 2.0
"""Maximum processor time of the trial, in seconds; published templates need some milliseconds."""
MEMORY = 1 << 30
"""Maximum memory of the trial, in bytes beyond that of this process."""
LONGEST = 1 << 20
"""Maximum characters of a template, and of a conversation of the trial as it renders it."""

_WORDS = [{"type": "text", "text": "Is there glaucoma? Yes or no."}]
_TURNS = [
    {"role": "system", "content": _WORDS},
    *[{"role": "user", "content": [{"type": "image"}, *_WORDS]}, {"role": "assistant", "content": _WORDS}] * 4,
]
TRIED = [_TURNS, _TURNS[:2], _TURNS[1:2], _TURNS[1:3], [_TURNS[1]] * 2]
"""Conversations of the trial."""


def rendered(source: str, turns: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
    """Return turns as a chat template writes them, after its trial: once for each template in a process.

    Args:
        source: The template.
        turns: Messages, each with its role and parts.
        variables: What the template sees beside the messages, e.g. special tokens.

    Raises:
        TemplateError: The template raises an error, is no template, or does more than the trial allows.
    """
    if len(source) > LONGEST:
        raise TemplateError(f"it has {len(source)} characters, expected at most {LONGEST}")
    if not _ends(source, frozenset((name, value) for name, value in variables.items() if isinstance(value, str))):
        raise TemplateError(
            f"it does more work than a chat template needs: over {SECONDS:g} s or {MEMORY >> 20} MiB for a question"
        )
    try:
        return _render(source, turns, variables)
    except TemplateError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise TemplateError(f"{type(error).__name__}: {str(error)[:200]}") from error


def _render(source: str, turns: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    made = render_jinja_template([[dict(turn) for turn in turns]], chat_template=source, **variables)
    return str(made[0][0])


@lru_cache(maxsize=16)
def _ends(source: str, variables: frozenset[tuple[str, str]]) -> bool:
    """Return whether a child process renders the conversations of the trial within its limits.

    Errors of the template itself are not its matter.
    """
    child = os.fork()  # not a new interpreter, which would import transformers for seconds
    if child == 0:
        status = 1
        try:
            _limit()
            status = 0 if all(_is_short(source, turns, dict(variables)) for turns in TRIED) else 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def _limit() -> None:
    """Limit time and memory of this process, which ends when it needs more; memory only where Linux tells its size."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    size = Path("/proc/self/statm")
    if size.exists():
        most = int(size.read_text("ascii").split()[0]) * resource.getpagesize() + MEMORY
        _, hard = resource.getrlimit(resource.RLIMIT_AS)  # a cluster's, which nothing may exceed
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _is_short(source: str, turns: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> bool:
    lengths = []
    for prompted in (False, True):
        with suppress(Exception):  # as by the rendering itself, which tells
            try:
                lengths.append(len(_render(source, turns, {**variables, "add_generation_prompt": prompted})))
            except MemoryError:
                return False
    return max(lengths, default=0) <= LONGEST
