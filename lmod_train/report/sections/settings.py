"""The settings of the runs, as in LMOD's Table 6, and the time, tokens and energy of their replies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from lmod_train.core.artifacts.energy import Energy, read_energy
from lmod_train.core.artifacts.run import NETWORK, Run
from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, table
from lmod_train.report.contents import Part, Text, heads, noted, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.sizes import parameters_of

_TEXTS, HEADS = texts(__file__), heads(__file__)


class Settings(Section):
    """Settings of the models of the runs, and what their replies took."""

    title: ClassVar[str] = "Settings, time and tokens"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield both tables; that of time and tokens only if a reply states some."""
        yield Text(_TEXTS["settings"])
        yield table("settings", HEADS["settings"], list(setting_rows(results)))
        rows = [row for name in results.names for row in _costs(results, name)]
        measured = any(row[_ENERGY] for row in rows)
        shown = slice(None if measured else _ENERGY)  # of columns
        note = _TEXTS["costs"] + (_TEXTS["energy"] if measured else _TEXTS["no_energy"])
        yield from noted(note, table("costs", HEADS["costs"][shown], [row[shown] for row in rows]))


_ENERGY = 7
"""Place of the first column of energy."""


def setting_rows(results: Results) -> Iterator[list[Cell]]:
    """Yield a row for each run: its settings as stored, and why others are empty."""
    for name, run in zip(results.names, results.runs, strict=True):
        outcomes = results.outcomes[name]
        known = (outcomes.config.get("provenance") or {}).get(NETWORK)
        network: dict[str, Any] = known if isinstance(known, dict) else {}
        stored = [_stored(p.reply.settings) for p in outcomes.predictions if p.status != "failed"]
        found = {column: " / ".join(sorted({_read(column, one) for one in stored} - {""})) for column in _KEYS}
        for column in ("resolution", "tiles"):
            found[column] = found.get(column) or _text(network.get(column))
        counted = network.get("parameters")
        size = counted / 1e9 if isinstance(counted, int) else parameters_of(run.model)
        missing = {column: _why(column, stored, network) for column, value in found.items() if not value}
        missing |= {} if size else {"parameters": _TEXTS["parameters"]}
        reasons = [
            f"{', '.join(c for c in missing if missing[c] == why)}: {why}" for why in dict.fromkeys(missing.values())
        ]
        yield [name, *(found[column] or None for column in _KEYS), size, "; ".join(reasons)]


_KEYS: Mapping[str, list[str]] = package_data(__file__, "words.yaml")["settings"]["keys"]
"""Column -> names of its setting in replies of local models and of endpoints."""


def _stored(settings: str) -> Mapping[str, Any]:
    try:
        found = json.loads(settings or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read(column: str, stored: Mapping[str, Any]) -> str:
    """Return a setting of a reply; a greedy reply has temperature 0, an endpoint's image the size that was sent."""
    images = stored.get("images")
    if column == "resolution" and isinstance(images, Mapping):
        side = images.get("longest_side")
        return f"sent: {f'longer side at most {side}' if side else 'as curated'}"
    if column == "temperature" and stored.get("do_sample") is False:
        return "0"
    return _text(next((stored[key] for key in _KEYS[column] if stored.get(key) is not None), None))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _why(column: str, stored: Sequence[Mapping[str, Any]], network: Mapping[str, Any]) -> str:
    """Return why a setting of a run is empty."""
    if column == "tiles" and network.get("resolution"):
        return _TEXTS["no_tiles"]
    if not any(stored) and network and column not in ("resolution", "tiles"):
        return _TEXTS["no_text"]
    if any(one.get("generation_config") == "model" for one in stored) and column in ("top-p", "temperature", "beams"):
        return _TEXTS["of_checkpoint"]
    if any(one.get("do_sample") is False for one in stored) and column == "top-p":
        return _TEXTS["greedy"]
    if any("images" in one for one in stored):
        return _TEXTS["service"]
    return _TEXTS["not_stored"]


def _costs(results: Results, name: str) -> Iterator[list[Cell]]:
    """Yield a row for each task of a run, and one of all tasks if there are several."""
    run = results.runs[results.names.index(name)]
    energy = read_energy(Run(run.path).energy)
    own = [p for p in results.outcomes[name].predictions if p.status != "failed"]
    tasks = list(dict.fromkeys(p.record.task for p in own))
    for task in (*tasks, *(["all"] if len(tasks) > 1 else [])):
        some = own if task == "all" and task not in tasks else [p for p in own if p.record.task == task]
        seconds, *tokens = (sum(getattr(p.reply, key) for p in some) for key in ("seconds", "tokens_in", "tokens_out"))
        measured = [energy[p.record.id] for p in some if p.record.id in energy]
        if seconds or any(tokens) or measured:
            each = seconds / len(some)
            lead = [name, task, len(some), seconds or None, each or None]
            yield [*lead, *(n or None for n in tokens), *_energy(measured)]


def _energy(measured: Sequence[Energy]) -> list[Cell]:
    if not measured:
        return [None, None, None, ""]
    total = sum(one.joules for one in measured)
    return [len(measured), total / 1000, total / len(measured), ", ".join(sorted({one.gpu for one in measured}))]
