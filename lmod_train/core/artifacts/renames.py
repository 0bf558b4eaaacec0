"""Names of classes in files: class paths of earlier versions, and names that stay when a class moves.

Run folders, curated folders, packs and users' own configs name classes by their path. `MOVED` states what became of the
paths of earlier versions. Where a name decides whether earlier work counts (``asked`` of a reply, the settings of a
curation, the hashes of a pack), files hold the `stored_name` of a class, which never changes.
"""

from __future__ import annotations

import re

MOVED = {
    **{
        f"lmod_train.{name}": f"lmod_train.core.{name}"
        for name in (
            "arrays", "artifacts", "cache", "cells", "errors", "escaping", "files", "lock", "perturbations", "pixels",
            "raw", "shipped", "shuffling", "types", "unpickling", "vocabulary", "weight_values", "zipped",
        )
    },
    **{f"lmod_train.{name}": f"lmod_train.tasks.{name}" for name in ("drafting", "failures", "parsing")},
    **{
        f"lmod_train.{name}": f"lmod_train.data.{name}"
        for name in ("audit", "curation", "datamodules", "formats", "sources")
    },
    **{
        f"lmod_train.{name}": f"lmod_train.models.{name}"
        for name in ("backends", "chat", "modules", "strategies", "vision")
    },
    **{f"lmod_train.{name}": f"lmod_train.training.{name}" for name in ("callbacks", "doctor", "evaluation", "lab")},
    "lmod_train.joining": "lmod_train.core.connected_components",
    "lmod_train.lettering": "lmod_train.core.option_letters",
    "lmod_train.wording": "lmod_train.core.reference_replies",
    "lmod_train.writing": "lmod_train.core.languages",
    "lmod_train.metrics": "lmod_train.scoring.metrics",
    "lmod_train.modules.conversation.Conversation": "lmod_train.models.modules.conversation.VisionLanguageModel",
    "lmod_train.modules.frozen_features.LinearProbe": "lmod_train.models.modules.linear_probe.LinearProbe",
    "lmod_train.modules.frozen_features.NearestNeighbour":
        "lmod_train.models.modules.nearest_neighbour.NearestNeighbour",
    "lmod_train.modules.sharding_deepspeed": "lmod_train.models.strategies.sharding_deepspeed",
    "lmod_train.modules.sharding_fsdp": "lmod_train.models.strategies.sharding_fsdp",
    "lmod_train.sources.ophthalwechat": "lmod_train.data.sources.ophthalwechat.source",
    "lmod_train.sources.xpcr": "lmod_train.data.sources.xpcr.source",
    "lmod_train.tasks.chain.Chain": "lmod_train.tasks.chain.chain.Chain",
    "lmod_train.tasks.cross_modality": "lmod_train.tasks.chain.cross_modality",
    "lmod_train.tasks.drafting.Drafting": "lmod_train.tasks.drafting.task.Drafting",
    "lmod_train.tasks.quality": "lmod_train.tasks.chain.quality",
    "lmod_train.tasks.regimes": "lmod_train.tasks.regimes",
    "lmod_train.tasks.stages": "lmod_train.tasks.chain.stages",
}  # fmt: skip
"""Class, module or package of an earlier version -> where it is today."""

_CLASS_PATH = re.compile(r"(?<![\w./])lmod_train(?:\.\w+)*\.[A-Z]\w*(?![\w/])")


def today(path: str) -> str:
    """Return the class path of today; a path that did not move is returned as it is.

    Example:
        >>> today("lmod_train.modules.conversation.Conversation")
        'lmod_train.models.modules.conversation.VisionLanguageModel'
        >>> today("lmod_train.sources.idrid.Idrid"), today("lmod_train.tasks.sex.Sex")
        ('lmod_train.data.sources.idrid.Idrid', 'lmod_train.tasks.sex.Sex')
    """
    known, rest = path, ""
    while known not in MOVED:
        known, dot, last = known.rpartition(".")
        if not dot:
            return path
        rest = f".{last}{rest}"
    return MOVED[known] + rest


def todays_text(text: str) -> str:
    """Return a text, such as a config or an argument, with every class path of this package as it is today.

    Example:
        >>> todays_text("- class_path: lmod_train.sources.idrid.Idrid  # lmod_train.sources")
        '- class_path: lmod_train.data.sources.idrid.Idrid  # lmod_train.sources'
    """
    return _CLASS_PATH.sub(lambda found: today(found[0]), text)


def moved_import(message: str) -> str:
    """Return what replaces the import of a module that moved, which an error message names; empty without one.

    Example:
        >>> print(moved_import("No module named 'lmod_train.types'"))
        lmod_train.types is lmod_train.core.types now; import the names of docs/extend.md from lmod_train itself
        >>> moved_import("No module named 'numpy'")
        ''
    """
    found = re.search(r"No module named '(lmod_train\.[\w.]+)'", message)
    now = today(found[1]) if found else ""
    if not found or now == found[1]:
        return ""
    return f"{found[1]} is {now} now; import the names of docs/extend.md from lmod_train itself"


def stored_name(kind: type) -> str:
    """Return the name by which files know a class: its own ``stored_name``, otherwise its class path.

    A class that moves states its first class path there. It is not inherited.

    Example:
        >>> from lmod_train.tasks.chain.chain import Chain
        >>> stored_name(Chain), stored_name(type("Own", (Chain,), {"__module__": "mine"}))
        ('lmod_train.tasks.chain.Chain', 'mine.Own')
    """
    own = vars(kind).get("stored_name")
    return own if isinstance(own, str) else f"{kind.__module__}.{kind.__qualname__}"
