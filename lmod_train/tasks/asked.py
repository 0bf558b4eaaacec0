"""What is asked of whom, as a hash: two equal ones mean that a reply to one is a reply to the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmod_train.core.types import Record


def asked(record: Record, weights: Sequence[str], template: str, settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 over everything that decides a reply, as 64 hexadecimal digits.

    Of the record these are the messages, the images' content and the choices; its id, the truth, the split and the
    version of the task are not, as no model sees them.

    Args:
        record: With its messages as they are sent.
        weights: SHA-256 of what the model was loaded from, in its order; names of what lies elsewhere.
        template: What turns messages into input, as a text or its hash.
        settings: How replies are decoded.

    Raises:
        TypeError: `settings` hold what JSON cannot.
    """
    everything = {
        "weights": list(weights),
        "template": template,
        "settings": settings,
        "messages": [[m.role, [[part.type, part.text] for part in m.parts]] for m in record.messages],
        "images": list(record.image_sha256),
        "choices": list(record.choices),
    }
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def asked_after(asked: str, texts: Sequence[str]) -> str:
    """Return the hash of a question whose placeholders hold these texts, as 64 hexadecimal digits.

    Args:
        asked: Hash of the question with its placeholders, from `asked`.
        texts: What stands at the placeholders, in the order of the record's needs.
    """
    return hashlib.sha256(json.dumps([asked, list(texts)]).encode()).hexdigest()
