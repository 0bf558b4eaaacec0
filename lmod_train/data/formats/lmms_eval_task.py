"""How lmms-eval asks and scores this benchmark: copied into an export as ``utils.py``, so it imports nothing of ours.

The ruler is strict and simple: of a choice, exactly one must be named in what stands before the explanation; regions
must be listed in the requested form. What cannot be read that way counts as wrong. lmod_train's own parsers read more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

_EXPLANATION = re.compile(r"explanations?\s*:|justifications?\s*:|解释\s*:|理由\s*:", re.IGNORECASE)
_REGION = re.compile(r"region id\s*:\s*(\d+)\s*;\s*type\s*:\s*([^\n;]+)", re.IGNORECASE)
_NEGATED = re.compile(r"(?:(?<![a-z])(?:no|not|non|without|isn't)\s+(?:\w+\s+){0,1}|[非无没]有?)$")


def doc_to_visual(doc: dict[str, Any]) -> list[Any]:
    """Return the images in the order of their places, as RGB."""
    return [image.convert("RGB") for image in doc.get("images") or []]


def doc_to_text(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, Any] | None = None) -> str:
    """Return the words of the question, unchanged.

    Raises:
        ValueError: The question has several turns, or words before an image; those need a model that takes messages.
    """
    if len(doc["messages"]) != 1:
        raise ValueError(f"{doc['id']} has several turns: use a chat model of lmms-eval, which takes doc_to_messages")
    parts = doc["messages"][0]["content"]
    kinds = [part["type"] for part in parts]
    if kinds != sorted(kinds):  # "image" before "text"
        raise ValueError(f"{doc['id']} has words before an image: use a chat model, which takes doc_to_messages")
    return "".join(part["text"] or "" for part in parts)


def doc_to_messages(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, Any] | None = None) -> list[Any]:
    """Return the turns as lmms-eval's chat models take them, each image at its place."""
    images = iter(doc_to_visual(doc))
    turns = []
    for message in doc["messages"]:
        content = [
            {"type": "image", "url": next(images, None)}
            if p["type"] == "image"
            else {"type": "text", "text": p["text"]}
            for p in message["content"]
        ]
        shown = [c for c in content if c["type"] == "text" or c["url"] is not None]
        turns.append({"role": message["role"], "content": shown})
    return turns


def doc_to_target(doc: dict[str, Any]) -> str:
    """Return the reference reply."""
    return str(doc["answer"])


def named_choice(reply: str, choices: Sequence[str]) -> str:
    """Return the one choice that a reply names before its explanation, empty where it names none, several or denies it.

    Example:
        >>> named_choice("**NON-GLAUCOMA**; Explanation: glaucoma unlikely", ["GLAUCOMA", "NON-GLAUCOMA"])
        'NON-GLAUCOMA'
        >>> named_choice("either", ["GLAUCOMA", "NON-GLAUCOMA"]), named_choice("no glaucoma", ["glaucoma", "normal"])
        ('', '')
    """
    text = _plain(_EXPLANATION.split(unicodedata.normalize("NFKC", reply), maxsplit=1)[0])
    named = set()
    for choice in sorted(choices, key=len, reverse=True):
        pattern = re.compile(rf"(?<![a-z0-9]){re.escape(_plain(choice))}(?![a-z0-9])")
        for found in pattern.finditer(text):
            named.add("" if _NEGATED.search(text[: found.start()]) else choice)
        text = pattern.sub(lambda m: "\0" * len(m[0]), text)  # a shorter choice must not be found inside a longer one
    return named.pop() if len(named) == 1 else ""


def listed_regions(reply: str) -> dict[int, str]:
    r"""Return region id -> type of every line in the requested form, the first mention of an id counting.

    Example:
        >>> listed_regions("Region ID: 1; Type: Optic Disc\nRegion ID: 2; Type: optic cup.")
        {1: 'optic disc', 2: 'optic cup'}
    """
    listed: dict[int, str] = {}
    for number, kind in _REGION.findall(unicodedata.normalize("NFKC", reply)):
        listed.setdefault(int(number), _plain(kind))
    return listed


def choice_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Score a question with choices: what names no single choice is wrong."""
    named = named_choice(results[0], doc["choices"])
    return {"accuracy_strict": float(named == doc["truth"]), "share_unparsed": float(not named)}


def region_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Score a question about numbered regions: F1 of the image, 0 where nothing is listed."""
    truth, listed = listed_regions(doc["answer"]), listed_regions(results[0])
    right = sum(truth.get(number) == kind for number, kind in listed.items())
    f1 = 2 * right / (len(truth) + len(listed))
    return {"f1_strict": f1, "share_unparsed": float(not listed)}


def text_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Score free text: the same words as the reference, case, punctuation and blanks aside."""
    answer = _plain(results[0])
    return {"exact_match": float(answer == _plain(doc["answer"])), "share_unparsed": float(not answer)}


def _plain(text: str) -> str:
    """Return lower-case words parted by single blanks; hyphens and underscores part words, other marks go."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s']|_", " ", folded).split())
