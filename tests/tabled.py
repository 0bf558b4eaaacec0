"""One test over a table: the rows of `pytest.mark.parametrize` without a test's bookkeeping for each of them."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

LONGEST = 200
"""Characters of a value or message that are shown."""


def stored(file: str, name: str) -> Any:
    """Return a table of `tables.json` beside a test, with tuples for lists."""
    return _tuples(_tables(Path(file).parent)[name])


@functools.cache
def _tables(folder: Path) -> Any:
    return json.loads((folder / "tables.json").read_text(encoding="utf-8"))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


Rows = Iterable[Any] | Callable[[], Iterable[Any]]


def tabled(names: str | Sequence[str], rows: Rows) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test for every row, all of them even where one fails, and name each row that fails with its values.

    Several tables above each other are combined, each row with each. For tests that take microseconds a row and leave
    nothing behind: fixtures are made once for all rows, but `tmp_path` is a folder of its own for each.
    `rows` may be a function, which is called when the test runs.
    """
    single = isinstance(names, str) and "," not in names
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed_rows = None if callable(rows) else list(rows)

    def table() -> list[dict[str, Any]]:
        found = rows() if callable(rows) else listed_rows
        return [dict(zip(listed, (row,) if single else row, strict=True)) for row in found or ()]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        tables = [table, *getattr(test, "tables", [])]
        body = getattr(test, "body", test)

        @functools.wraps(body)
        def whole(*args: Any, **fixtures: Any) -> None:
            wrong: list[tuple[dict[str, Any], BaseException]] = []
            every = product(*(one() for one in tables))
            given = [{name: value for part in parts for name, value in part.items()} for parts in every]
            assert given, "no rows"
            for number, values in enumerate(given):
                try:
                    body(*args, **values, **_own(fixtures, number))
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append((values, error))
            if wrong:
                listing = "\n".join(f"  {_shown(values)}: {_first(error)}" for values, error in wrong)
                raise AssertionError(f"{len(wrong)} of {len(given)} rows:\n{listing}") from wrong[0][1]

        left = [p for name, p in inspect.signature(test).parameters.items() if name not in listed]
        whole.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        whole.tables, whole.body = tables, body  # type: ignore[attr-defined]
        return whole

    return decorate


def _own(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    if "tmp_path" not in fixtures:
        return fixtures
    folder = fixtures["tmp_path"] / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={repr(value)[:LONGEST]}" for name, value in values.items())


def _first(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:LONGEST]}"
