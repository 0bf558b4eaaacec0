"""Chat templates of checkpoints from others: rendered as by transformers, with all work counted and limited.

A chat template is a program. Jinja's sandbox keeps it from files and from Python, but not from endless loops or from
``"A" * 10**10``. Here the nodes of a template that repeat, join or copy report what they do before they do it; work
above `MOST_WORK` ends with an error. Filters and methods whose work cannot be estimated are refused.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import datetime
from functools import lru_cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

MOST_WORK = 20_000_000
"""Units of work of one rendering, about a character that is copied; 20 more for each character of the messages.

Published templates need about 10,000 for a question, and a million for 80 messages.
"""
MOST_SOURCE = 1 << 20
"""Maximum characters of a template."""
STEP, NODE, ELEMENT = 250, 40, 60
"""Units of a pass of a loop or a call, of each node of its body, and of an element of a list."""
MOST_BITS = 4096
"""Maximum size of a whole number."""

REFUSED = ("urlize", "striptags", "xmlattr", "pprint", "filesizeformat", "random", "wordwrap")
"""Filters that no chat template needs, and whose work is not estimated."""
_SHALLOW = frozenset([
    "abs", "attr", "batch", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items",
    "last", "length", "list", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "safe", "select",
    "selectattr", "slice", "sort", "unique",
])  # fmt: skip
"""Filters that do not write their value as text."""
_SIZED = ("center", "ljust", "rjust", "zfill", "expandtabs")
_NUMBER_METHODS = ("bit_length", "is_integer", "decode", "hex")
_DIGITS = re.compile(r"\d+")


class TooMuchWork(jinja2.TemplateError):
    """A template loops, joins or copies more than a chat template does."""

    def __init__(self) -> None:
        super().__init__(f"it does more work than a chat template needs, above {MOST_WORK} units: loops or long texts")


class _Left(threading.local):
    work = 0


def rendered(source: str, turns: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
    """Return turns as a chat template writes them.

    Args:
        source: The template.
        turns: Messages, each with its role and parts; pictures are only known to be there.
        variables: What the template sees beside the messages, e.g. special tokens.

    Raises:
        TemplateError: The template raises an error, is no template, or does more work than `MOST_WORK`.
    """
    if len(source) > MOST_SOURCE:
        raise jinja2.TemplateError(f"it has {len(source)} characters, expected at most {MOST_SOURCE}")
    try:
        template, messages = _compiled(source), _plain(turns)
        ENVIRONMENT.left.work = MOST_WORK
        ENVIRONMENT.left.work += 20 * ENVIRONMENT.size(messages)
        return template.render(messages=messages, **_plain(variables))
    except jinja2.TemplateError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise jinja2.TemplateError(f"{type(error).__name__}: {str(error)[:200]}") from error


@lru_cache(maxsize=16)
def _compiled(source: str) -> jinja2.Template:
    return ENVIRONMENT.from_string(source)


def _plain(value: Any) -> Any:
    """Return a value of plain JSON types; any other is a text with the name of its type, as transformers shows it."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):  # a subclass, which may have other methods
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return f"<{type(value).__name__}>"


class _Counting(NodeTransformer):
    """Puts a call of the environment around every node that repeats, joins, copies, compares or prints."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        """Return a node with what it does counted."""
        weight = _weight(node) if isinstance(node, nodes.For | nodes.Macro | nodes.CallBlock) else 0
        self.generic_visit(node)
        match node:
            case nodes.For():
                node.iter = _call("counted", node.iter, nodes.Const(weight))
            case nodes.Macro() | nodes.CallBlock():
                node.body.insert(0, nodes.Output([_call("spent", nodes.Const(weight))]))
            case nodes.Output():
                node.nodes = list(_printed(node))
            case nodes.Concat():
                return _call("joined", nodes.Tuple(node.nodes, "load"))
            case nodes.List() | nodes.Dict() | nodes.Tuple(ctx="load"):
                plain = all(isinstance(one, nodes.Const) for one in node.iter_child_nodes())
                return node if plain else _call("made", node)
            case nodes.Getitem(arg=nodes.Slice()):
                return _call("made", node)
            case nodes.Compare():
                node.expr = _weighed(node.expr)
                for operand in node.ops:
                    operand.expr = _weighed(operand.expr)
        return node


def _printed(node: nodes.Output) -> Iterator[nodes.Expr]:
    """Yield what an output prints, counted."""
    length = 0
    for one in node.nodes:
        length += len(one.data) if isinstance(one, nodes.TemplateData) else 0
        yield one if isinstance(one, nodes.TemplateData | nodes.Const) else _call("shown", one)
    yield _call("spent", nodes.Const(length))


def _call(name: str, *values: Any) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), list(values), [], None, None)


def _weighed(node: nodes.Expr) -> nodes.Expr:
    return node if isinstance(node, nodes.Const) else _call("weighed", node)


def _weight(node: nodes.Node) -> int:
    return STEP + NODE * sum(1 for _ in node.find_all(nodes.Node))


class _Generation(Extension):
    """Reads ``{% generation %}``, with which a template marks what a model writes, as its body."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class _Namespace(Namespace):
    """A namespace whose text is its type, as it could hold itself."""

    def __init__(*args: Any, **values: Any) -> None:  # `namespace(self=...)` is a name of the template
        for name in dict(*args[1:], **values):
            _check_name(name)
        Namespace.__init__(*args, **values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)

    def __repr__(self) -> str:
        return "<Namespace>"


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"names in a namespace must not begin with an underscore: {name[:40]!r}")


class CountedEnvironment(ImmutableSandboxedEnvironment):
    """The environment of transformers' chat templates, which counts work."""

    intercepted_binops = frozenset(["+", "-", "*", "%", "**"])

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
        self.left = _Left()
        self.filters["tojson"] = _json
        self.filters = {name: self._limited(name, f) for name, f in self.filters.items() if name not in REFUSED}
        self.tests = {name: self._tested(f) for name, f in self.tests.items()}
        self.globals.pop("lipsum")
        self.globals |= {"raise_exception": _raise, "strftime_now": _now, "dict": _Dict(), "namespace": _Namespace}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        _Counting().visit(tree)
        for node in tree.find_all(nodes.Node):
            node.set_lineno(1)
            node.set_environment(self)
        return tree

    def charge(self, work: float) -> None:
        """Count work before it is done.

        Raises:
            TooMuchWork: There is more than `MOST_WORK` in this rendering.
        """
        self.left.work -= int(work)
        if self.left.work < 0:
            raise TooMuchWork

    def counted(self, items: Iterable[Any], weight: int = STEP) -> Iterator[Any]:
        """Yield items, each counted with the weight of what is done with it."""
        for item in items:
            self.charge(weight)
            yield item

    def spent(self, work: int) -> str:
        """Count work and print nothing."""
        self.charge(work)
        return ""

    def shown(self, value: Any) -> Any:
        """Return a value that is printed."""
        self.charge(STEP + self.size(value))
        return value

    def joined(self, values: tuple[Any, ...]) -> str:
        """Return values as one text."""
        for value in values:
            self.charge(STEP + self.size(value))
        return "".join(map(str, values))

    def made(self, value: Any) -> Any:
        """Return a new list, mapping or part of one; the elements of its elements count too, but not their texts."""
        self.charge(STEP + (len(value) if isinstance(value, str) else 0))
        self.size(value, texts=False)
        return value

    def weighed(self, value: Any) -> Any:
        """Return a value that is compared."""
        self.charge(STEP + (len(value) // ELEMENT if isinstance(value, str) else 0))
        self.size(value, texts=False)
        return value

    def size(self, value: Any, *, texts: bool = True) -> int:
        """Return the number of characters of a value as text; the elements of containers are counted as work."""
        waiting, found = [value], 0
        while waiting:
            one = waiting.pop()
            if isinstance(one, str | bytes):
                found += len(one) if texts else 0
            elif isinstance(one, Mapping | list | tuple | set | frozenset):
                self.charge(ELEMENT * (len(one) + 1))
                waiting += [*one, *one.values()] if isinstance(one, Mapping) else one
        return found

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return the result of an operator whose size is limited."""
        self.charge(STEP)
        if operator == "%" and isinstance(left, str):
            self._charge_format(left, right)
        elif isinstance(left, int) and isinstance(right, int):
            grows = {"*": left.bit_length() + right.bit_length(), "**": left.bit_length() * max(right, 0)}
            if grows.get(operator, 0) > MOST_BITS:
                raise TooMuchWork
        elif operator == "*":
            self._charge_repeated(*((left, right) if isinstance(right, int) else (right, left)))
        elif operator == "+":
            self.charge(sum(ELEMENT * len(v) if isinstance(v, list | tuple) else self.size(v) for v in (left, right)))
        made = super().call_binop(context, operator, left, right)
        self.size(made, texts=False)
        return made

    def _charge_repeated(self, value: Any, times: Any) -> None:
        if isinstance(times, int) and isinstance(value, Sized):
            self.charge(ELEMENT * max(times, 0) * len(value))

    def _charge_format(self, text: str, values: Any) -> None:
        """Count what formatting gives at most: each place may hold all values, and its width."""
        if "*" in text or re.search(r"\{[^{}]*\{", text):
            raise SecurityError("widths of formats must be numbers in the text")
        places = text.count("%") + text.count("{")
        self.charge(len(text) + places * self.size(values) + sum(int(d[0][:12]) for d in _DIGITS.finditer(text)))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function or method of a template, whose result is limited."""
        owner = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)
        if owner is __self:  # a call that `_Counting` has put there
            return __obj(*args)
        __self.charge(STEP)
        if isinstance(__obj, LoopContext) and args:  # a recursive loop
            args = (__self.counted(args[0], MOST_WORK // 20_000), *args[1:])
        name = getattr(__obj, "__name__", "")
        if isinstance(owner, str):
            args = __self._charge_method(owner, name, args, kwargs)
        elif isinstance(owner, int | float | bytes) and name not in _NUMBER_METHODS:
            raise SecurityError(f"a chat template may not call {name[:40]} of a {type(owner).__name__}")
        return __self._charged(super().call(__context, __obj, *args, **kwargs))

    def _charge_method(self, text: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Count what a method of a text does; return its arguments."""
        values = [*args, *kwargs.values()]
        self.charge(len(text) // ELEMENT)
        if name in _SIZED:
            self.charge(sum(abs(v) for v in values if isinstance(v, int)) * (1 + text.count("\t")))
        elif name == "replace" and len(values) > 1:
            self._charge_replace(text, values[0], values[1])
        elif name == "join" and args:
            args = (list(self.counted(args[0])), *args[1:])
            self.charge(self.size(args[0]) + len(text) * len(args[0]))
        elif name in ("format", "format_map"):
            self._charge_format(text, values)
        elif name in ("translate", "striptags", "unescape"):
            raise SecurityError(f"a chat template may not call {name} of a text")
        return args

    def _charge_replace(self, text: Any, old: Any, new: Any) -> None:
        if isinstance(text, str) and isinstance(old, str) and isinstance(new, str):
            self.charge(len(text) + text.count(old) * len(new))

    def _charged(self, made: Any) -> Any:
        """Return a result, counted; of one without a length every element is counted when it is taken."""
        if isinstance(made, str):
            self.charge(len(made))
        elif isinstance(made, list | tuple | dict):
            self.size(made, texts=False)
        elif isinstance(made, Iterator):
            return self.counted(made)
        return made

    def _limited(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a filter that counts its work."""
        skipped = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def limited(*args: Any, **kwargs: Any) -> Any:
            before, values = args[:skipped], [*args[skipped:]]
            if isinstance(values[0], Iterator):
                values[0] = list(self.counted(values[0]))
            self._charge_filter(name, values, kwargs)
            return self._charged(function(*before, *values, **kwargs))

        return limited

    def _charge_filter(self, name: str, values: list[Any], kwargs: dict[str, Any]) -> None:
        value, others = values[0], [*values[1:], *kwargs.values()]
        whole = isinstance(value, str) or name not in _SHALLOW
        length = ELEMENT * len(value) if isinstance(value, Sized) else 0
        self.charge(STEP + (2 * self.size(value) if whole else length))
        widths = sum(abs(v) for v in others if isinstance(v, int | float) and abs(v) < float("inf"))
        lines = value.count("\n") + 1 if isinstance(value, str) else 1 + length // ELEMENT
        self.charge(widths * lines)
        if name == "replace" and len(others) > 1:
            self._charge_replace(str(value), str(others[0]), str(others[1]))
        elif name == "join" and isinstance(value, Sized):
            self.charge(sum(map(self.size, others)) * (len(value) + 1))
        elif name == "format":
            self._charge_format(str(value), [*values[1:], kwargs])
        elif name == "sum" and isinstance(value, Sized):
            self.charge(len(value) * ELEMENT + len(value) ** 2 // 10)
        elif name == "indent":
            self.charge(sum(map(self.size, others)) * lines)

    def _tested(self, function: Any) -> Callable[..., Any]:
        """Return a test that counts its work."""

        @wraps(function)
        def tested(*args: Any, **kwargs: Any) -> Any:
            for value in args:
                self.weighed(value)
            return function(*args, **kwargs)

        return tested


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    if len(form) > MOST_BITS or _DIGITS.search(form):
        raise SecurityError("a format of a date must be short and without widths")
    return datetime.now().strftime(form)


class _Dict:
    """What a template calls `dict`: no class, whose attributes would lead further."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


def _json(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = CountedEnvironment()
