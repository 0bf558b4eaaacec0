"""A local server that answers, refuses, truncates and fails at known rates; of the standard library alone.

Which fate a question has is drawn from the seed and its number (``#17`` in its text), which fault an attempt meets from
the seed, the number and how often it was asked: so the truth is known, whatever the order and however often a run
is ended and continued. It runs as a process of its own: ``python server.py PLAN_AS_JSON`` prints its port.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
import re
import subprocess
import sys
import urllib.request
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

STATUS = {
    "right": "answered",
    "wrong": "answered",
    "refusing": "refused",
    "refusal": "refused",
    "filtered": "refused",
    "forbidden": "refused",
    "flagged": "refused",
    "withheld": "refused",
    "cut": "truncated",
    "thought": "truncated",
    "hidden": "truncated",
    "empty": "unparsed",
    "vague": "unparsed",
    "rejected": "failed",
}
"""Fate of a question -> the status under which it must be counted."""

FAULTS = (
    "429", "429 date", "500", "503", "garbage", "empty body", "no choices", "half body", "half stream", "half reply",
    "silence", "error 200", "reset",
)  # fmt: skip

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def _body(body: bytes, more: bytes = b"") -> bytes:
    return _HEAD + more + b"content-length: %d\r\n\r\n" % len(body) + body


def _error(status: int, body: bytes = b"<html>no</html>", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\n%scontent-length: %d\r\n\r\n" % (status, more, len(body)) + body


@cache
def bomb(gib: float, nested: bool = False) -> bytes:
    """Return gzip of so many GiB of zeros, about a thousandth of it; nested once more packed."""
    packing = zlib.compressobj(9, wbits=31)
    whole = packing.compress(bytes(2**20)) + packing.flush(zlib.Z_FULL_FLUSH)
    block = packing.compress(bytes(2**20)) + packing.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(whole + block * int(gib * 1024), 9) if nested else whole + block * int(gib * 1024)


LISTED: dict[str, Callable[[], bytes]] = {
    "gzip bomb": lambda: _body(bomb(2), b"content-encoding: gzip\r\n"),
    "bomb in an error": lambda: _error(500, bomb(2), b"content-encoding: gzip\r\n"),
    "gzip twice": lambda: _body(bomb(8, nested=True), b"content-encoding: gzip, gzip\r\n"),
    "brotli": lambda: _body(b"\x0b\x02", b"content-encoding: br\r\n"),
    "zstd": lambda: _body(b"(\xb5/\xfd", b"content-encoding: zstd\r\n"),
    "cut gzip": lambda: _body(gzip.compress(b'{"choices": []}')[:-9], b"content-encoding: gzip\r\n"),
    "damaged gzip": lambda: _body(b"\x1f\x8b\x08not gzip", b"content-encoding: gzip\r\n"),
    "many headers": lambda: _HEAD + b"".join(b"x-%d: y\r\n" % i for i in range(40_000)),
    "one long header": lambda: _HEAD + b"x: " + b"y" * 2**20,
    "not HTTP": lambda: b"SSH-2.0-OpenSSH_9.6\r\n",
    "TLS": lambda: b"\x15\x03\x01\x00\x02\x02\x46",
    "negative length": lambda: _HEAD + b"content-length: -5\r\n\r\n{}",
    "two lengths": lambda: _HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "bad chunk": lambda: _HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "deep": lambda: _body(b"[" * 200_000),
    "a list": lambda: _body(b"[]"),
    "null": lambda: _body(b"null"),
    "a long number": lambda: _body(b"9" * 10_000),
    "no message": lambda: _body(b'{"choices": [{"finish_reason": "stop"}]}'),
    "tool calls": lambda: _body(b'{"choices": [{"message": {}, "finish_reason": "tool_calls"}]}'),
    "reasoning lost": lambda: _body(b'{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}'),
    "204": lambda: b"HTTP/1.1 204 X\r\n\r\n",
    "307": lambda: _error(307, more=b"location: http://127.0.0.1:9/\r\n"),
    "404": lambda: _error(404),
    "408": lambda: _error(408),
    "504": lambda: _error(504),
}  # fmt: skip
"""Fault -> all that is sent before the connection is closed."""

ENDLESS: dict[str, tuple[bytes, bytes, float]] = {
    "endless body": (_HEAD + b"transfer-encoding: chunked\r\n\r\n", b"10000\r\n%s\r\n" % (b" " * 2**16), 0.0),
    "endless hints": (b"", b"HTTP/1.1 103 X\r\nlink: x\r\n\r\n", 0.001),
    "drip": (_HEAD + b"content-length: 99999\r\n\r\n", b" ", 0.02),
}
"""Fault -> what is sent at first, and then every so many seconds until the client goes."""

STRANGE = (*LISTED, *ENDLESS)

FORMS: dict[str, Callable[[bytes], tuple[bytes, dict[str, str]]]] = {
    "BOM": lambda body: (b"\xef\xbb\xbf" + body, {}),
    "commas": lambda body: (body.replace(b"}", b",\n}").replace(b"]", b",]"), {}),
    "NaN": lambda body: (body[:-1] + b', "score": NaN, "most": -Infinity}', {}),
    "UTF-16": lambda body: (body.decode().encode("utf-16"), {}),
    "gzip": lambda body: (gzip.compress(body), {"content-encoding": "gzip"}),
    "deflate": lambda body: (zlib.compress(body), {"content-encoding": "deflate"}),
}
"""Form of a reply that can be read though it is not the usual one -> function of the usual body."""


@dataclass
class Plan:
    """What the server does.

    `answers` are the right answers by number. `fates` and `faults` are weights; `fault` is the share of attempts that
    meet a fault. `delay` is in seconds. `most` is the number of requests at once beyond which it sends 429; 0 for none.
    `echo` repeats the Authorization header wherever a server could. `gone_after`: requests after which it exits.
    `logprobs` returns those of a token without alternatives; `top` those of the first token of every reply, which is a
    choice. `prompts` returns prompt_logprobs: "whole" with an end token after a reply, "open" without one, "merged"
    with a first token that a reply changes. `silence`: seconds until a request without a reply is closed.
    `demand`: the name of an entry of `DEMANDS`, which every request must meet.
    `kept`: number of images whose prefix the server keeps, the last ones that were asked about; hits are counted.
    `written`: the client's reply file, whose lines are counted with each request: `unwritten` is the largest number of
    questions that were asked and had no line yet.
    `refused`: numbers of questions whose image is too large (413). `revoked_after`: requests after which the key is
    refused. `redirect`: address that every request is sent on to. `usage`: what is stated as the tokens of each reply,
    the last entry of all that follow; empty for 110. `billed` states as tokens a fourth of the characters, a 750th of
    the pixels of JPEG images, and of the reply 60 to 100 that are drawn by number; the sums of both are counted.
    `obeyed`: the fields by which replies are constrained that the
    server obeys; it ignores others, or answers 400 to them if `strict`. `obedient_until`: number of such requests from
    which on it ignores all of them; 0 for none. `forms`: the `FORMS` of replies, drawn by number; empty for the usual.
    """

    answers: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=lambda: ["GLAUCOMA", "NON-GLAUCOMA"])
    fates: dict[str, float] = field(default_factory=lambda: {"right": 1.0})
    faults: dict[str, float] = field(default_factory=lambda: dict.fromkeys(FAULTS, 1.0))
    fault: float = 0.0
    seed: int = 0
    delay: float = 0.0
    most: int = 0
    echo: bool = False
    status: int = 0
    logprobs: bool = False
    top: dict[str, float] = field(default_factory=dict)
    prompts: str = ""
    silence: float = 3600.0
    kept: int = 0
    demand: str = ""
    gone_after: int = 0
    written: str = ""
    refused: list[int] = field(default_factory=list)
    revoked_after: int = 0
    usage: list[Any] = field(default_factory=list)
    billed: bool = False
    redirect: str = ""
    obeyed: list[str] = field(default_factory=list)
    strict: bool = False
    obedient_until: int = 0
    forms: list[str] = field(default_factory=list)

    def fate(self, n: int) -> str:
        """Return what becomes of a question however often it is asked."""
        return random.Random(f"{self.seed}/{n}").choices(list(self.fates), list(self.fates.values()))[0]

    def fault_of(self, n: int, attempt: int) -> str:
        """Return what disturbs an attempt, counted from 1; empty for nothing."""
        draw = random.Random(f"{self.seed}/{n}/{attempt}")
        return draw.choices(list(self.faults), list(self.faults.values()))[0] if draw.random() < self.fault else ""

    def truth(self) -> dict[str, int]:
        """Return how many questions belong under each status."""
        return dict(Counter(STATUS[self.fate(n)] for n in range(len(self.answers))))


def completion(plan: Plan, n: int, secret: str) -> dict[str, Any]:
    """Return the body of a reply."""
    fate = plan.fate(n) if n >= 0 else "right"
    answer = plan.answers[n] if 0 <= n < len(plan.answers) else "OK"
    other = next((c for c in plan.choices if c != answer), "")
    text, reason, more = {
        "right": (f"{answer}; Explanation: the cup is what it is.", "stop", {}),
        "wrong": (f"{other}; Explanation: the cup is what it is.", "stop", {}),
        "refusing": ("I'm sorry, I can't provide a medical diagnosis.", "stop", {}),
        "refusal": (None, "stop", {"refusal": f"I will not say {answer}."}),
        "filtered": ("", "content_filter", {}),
        "cut": ("The optic nerve head in this image", "length", {}),
        "thought": (None, "length", {"reasoning_content": f"It may be {answer}, or"}),
        "hidden": ("", "length", {}),
        "withheld": (None, "content_filter", {}),
        "empty": ("", "stop", {}),
        "vague": ("The image shows an eye.", "stop", {}),
    }[fate]
    message: dict[str, Any] = {"role": "assistant", "content": text, **more}
    if plan.echo:
        message["content"] = f"{text} {secret}"
    choice: dict[str, Any] = {"index": 0, "message": None if fate == "withheld" else message, "finish_reason": reason}
    if plan.top:
        given: list[dict[str, Any]] = [
            {"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in plan.top.items()
        ]
        whole = {"token": text or "?", "logprob": -9.0}
        first = next((t for t in given if (text or "").startswith(t["token"])), whole)
        rest = (text or "").removeprefix(first["token"])
        last = {"token": rest, "logprob": -0.1, "bytes": list(rest.encode()), "top_logprobs": []}
        choice["logprobs"] = {"content": [{**first, "top_logprobs": given}, *([last] if rest else [])]}
    elif plan.logprobs:
        choice["logprobs"] = {"content": [{"token": "OK", "logprob": -0.1, "top_logprobs": []}]}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    model = f"served-7b-2026 {secret}" if plan.echo else "served-7b-2026"
    return {"id": "x", "object": "chat.completion", "created": 1, "model": model, "system_fingerprint": "fp_7",
            "choices": [choice], "usage": usage}  # fmt: skip


def allowed(body: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the field by which a request constrains its reply, and the replies that it allows."""
    if "structured_outputs" in body:
        return "structured_outputs", body["structured_outputs"]["choice"]
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        assert schema["required"] == list(schema["properties"]) and schema["additionalProperties"] is False
        return "response_format", schema["properties"]["answer"]["enum"]
    return "", []


def constrained(plan: Plan, reply: dict[str, Any], body: dict[str, Any], n: int) -> dict[str, Any]:
    """Return a reply that is one of those that a request allows: the right one, if the plan is to be right."""
    form, replies = allowed(body)
    message = reply["choices"][0]["message"]
    if form in plan.obeyed and reply["choices"][0]["finish_reason"] == "stop" and message["content"]:
        right = [one for one in replies if n >= 0 and one == plan.answers[n]]
        chosen = right[0] if right and plan.fate(n) == "right" else next(one for one in replies if one not in right)
        message["content"] = chosen if form == "structured_outputs" else json.dumps({"answer": chosen})
    return reply


def tokens(plan: Plan, body: dict[str, Any]) -> list[str]:
    """Return the tokens of a rendered conversation: 30 of an image, characters, the end token, a line break."""
    rendered: list[str] = ["<s>"]
    for message in body["messages"]:
        reply = message["role"] == "assistant"
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        rendered += ["BOT:", "~" if plan.prompts == "merged" else " "] if reply else ["USER:"]
        for part in parts:
            rendered += list(part["text"]) if "text" in part else ["<image>"] * 30
        if reply and not body.get("continue_final_message"):
            rendered += [" "] if plan.prompts == "open" else ["</s>", "\n"]
    return rendered + (["BOT:", " "] if body.get("add_generation_prompt", True) else [])


def logprob(token: str, before: str) -> float:
    """Return the log-probability of a token after another."""
    return -((sum(map(ord, token + before)) % 97) + 1) / 10


BILLED = ("prompt_tokens", "completion_tokens")


def bill(plan: Plan, body: dict[str, Any], n: int) -> dict[str, int]:
    """Return the tokens of a request with JPEG images, and of its reply."""
    parts = [p for m in body["messages"] for p in (m["content"] if isinstance(m["content"], list) else [])]
    shown = [base64.b64decode(p["image_url"]["url"].partition("base64,")[2]) for p in parts if "image_url" in p]
    starts = [jpeg.index(b"\xff\xc0") for jpeg in shown]
    sides = [
        (int.from_bytes(j[i + 5 : i + 7]), int.from_bytes(j[i + 7 : i + 9])) for j, i in zip(shown, starts, strict=True)
    ]
    words = sum(len(p.get("text", "")) for p in parts) // 4
    out = random.Random(f"{plan.seed}/{n}/bill").randint(60, 100)
    return dict(zip(BILLED, (words + sum(a * b // 750 for a, b in sides) + 9, out), strict=True))


def prompt_logprobs(plan: Plan, body: dict[str, Any]) -> list[Any]:
    """Return an entry a token, with the likeliest other token beside it."""
    pairs = zip(tokens(plan, body)[1:], tokens(plan, body), strict=False)
    other = {"99999": {"logprob": -0.01, "rank": 1, "decoded_token": "?"}}
    numbers = [(str(sum(ord(c) << 8 * i for i, c in enumerate(t))), t, logprob(t, before)) for t, before in pairs]
    return [None, *({**other, i: {"logprob": p, "rank": 5, "decoded_token": t}} for i, t, p in numbers)]


DEMANDS: dict[str, tuple[Callable[[dict[str, Any]], bool], str]] = {
    "reasoning": (
        lambda body: "max_tokens" not in body,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "classic": (
        lambda body: "max_completion_tokens" not in body,
        "Unrecognized request argument supplied: max_completion_tokens",
    ),
    "no temperature": (
        lambda body: "temperature" not in body,
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    ),
    "short": (
        lambda body: body["max_tokens"] <= 70,
        "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 100 tokens.",
    ),
    "no effort": (
        lambda body: "reasoning_effort" not in body,
        "Unrecognized request argument supplied: reasoning_effort",
    ),
}
"""Name -> test of a request, and message to one that fails it, in the words of OpenAI and vLLM."""


class Server:
    """Counts what it is asked: requests by question, whole replies by question, most requests at once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.asked: Counter[int] = Counter()
        self.sent: Counter[int] = Counter()
        self.rated: Counter[int] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.images: list[tuple[int, str]] = []
        self.now = self.peak = self.requests = self.hits = self.unwritten = self.constrained = 0
        self.prefixes: list[str] = []
        self.bill = [0, 0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self.one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head.split("\r\n")[1:])}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        path = head.split(" ", 2)[1]
        if path == "/stats":
            stats = {
                "asked": self.asked,
                "sent": self.sent,
                "rated": self.rated,
                "peak": self.peak,
                "now": self.now,
                "hits": self.hits,
                "bill": self.bill,
                "unwritten": self.unwritten,
            }
            return await send(writer, 200, json.dumps({**stats, "bodies": self.bodies[-50:], "images": self.images}))
        if path.endswith("/models"):
            return await send(writer, 500, "no hub cache")
        self.now += 1
        self.peak, self.requests = max(self.peak, self.now), self.requests + 1
        if self.plan.gone_after and self.requests > self.plan.gone_after:
            sys.exit(0)
        try:
            return await self.chat(json.loads(data), headers.get("authorization", ""), writer)
        finally:
            self.now -= 1

    async def chat(self, body: dict[str, Any], secret: str, writer: asyncio.StreamWriter) -> bool:
        place = self.requests  # of this request, which others pass while it waits
        rated = body["messages"][-1]["role"] == "assistant"
        text = json.dumps(body["messages"][-2 if rated else -1]["content"])
        number = re.search(r"#(\d+)", text)
        n = int(number[1]) if number else -1
        image = re.search(r"base64,([^\"]{0,200000})", text)
        self.images.append((n, str(hash(image[1])) if image else ""))
        if self.plan.kept and image:
            self.hits += image[1] in self.prefixes
            self.prefixes = [*(p for p in self.prefixes if p != image[1]), image[1]][-self.plan.kept :]
        self.bodies.append({k: v for k, v in body.items() if k != "messages"})
        (self.rated if rated else self.asked)[n] += 1
        if self.plan.written and n >= 0 and not rated:
            file = Path(self.plan.written)
            lines = file.read_bytes().count(b"\n") if file.exists() else 0
            self.unwritten = max(self.unwritten, sum(number >= 0 for number in self.asked) - lines)
        if self.plan.most and self.now > self.plan.most:
            return await send(writer, 429, '{"error": {"message": "too many"}}', {"retry-after-ms": "20"})
        await asyncio.sleep(self.plan.delay)
        if self.plan.demand and not DEMANDS[self.plan.demand][0](body):
            return await send(
                writer, 400, json.dumps({"error": {"message": DEMANDS[self.plan.demand][1], "code": 400}})
            )
        if n >= 0 and (fault := self.plan.fault_of(n, self.asked[n] + self.rated[n])):
            return await fail(fault, writer, self.plan.silence)
        if n >= 0 and self.plan.status:
            repeated = f"{secret} {json.dumps(secret)}" if self.plan.echo else ""
            headers = {"x-echo": secret, "retry-after": secret} if self.plan.echo else {}
            return await send(writer, self.plan.status, json.dumps({"error": {"message": f"no {repeated}"}}), headers)
        if self.plan.redirect:
            return await send(writer, 307, "", {"location": self.plan.redirect})
        if self.plan.revoked_after and place > self.plan.revoked_after:
            return await send(writer, 401, '{"error": {"message": "no"}}')
        if n in self.plan.refused:
            return await send(writer, 413, '{"error": {"message": "too large"}}')
        if n >= 0 and self.plan.fate(n) == "forbidden":
            return await send(writer, 400, '{"error": {"code": "content_filter", "message": "filtered"}}')
        if n >= 0 and self.plan.fate(n) == "flagged":
            return await send(
                writer, 400, '{"error": {"code": "invalid_prompt", "message": "Invalid prompt: flagged"}}'
            )
        if n >= 0 and self.plan.fate(n) == "rejected":
            return await send(writer, 400, '{"error": {"code": "bad", "message": "this image cannot be read"}}')
        form, _ = allowed(body)
        self.constrained += bool(form)
        if form and form not in self.plan.obeyed and self.plan.strict:
            return await send(writer, 400, json.dumps({"error": {"message": f"Unknown parameter: '{form}'."}}))
        reply = completion(self.plan, n, secret)
        if not self.plan.obedient_until or self.constrained < self.plan.obedient_until:
            reply = constrained(self.plan, reply, body, n)
        if self.plan.usage:
            reply["usage"] = self.plan.usage[min(place, len(self.plan.usage)) - 1]
        if self.plan.billed:
            reply["usage"] = bill(self.plan, body, n)
            self.bill = [paid + reply["usage"][name] for paid, name in zip(self.bill, BILLED, strict=True)]
        if self.plan.prompts:
            reply["usage"]["prompt_tokens"] = len(tokens(self.plan, body))
            if "prompt_logprobs" in body:
                reply["prompt_logprobs"] = prompt_logprobs(self.plan, body)
        form = random.Random(f"{self.plan.seed}/{n}/form").choice(self.plan.forms or [""])
        packed, more = FORMS[form](json.dumps(reply).encode()) if form else (json.dumps(reply), {})
        whole = await send(writer, 200, packed, more)
        self.sent[n] += not rated
        return whole


async def fail(fault: str, writer: asyncio.StreamWriter, silence: float) -> bool:
    """Disturb an attempt."""
    if fault == "429":
        return await send(writer, 429, '{"error": {"message": "slow down"}}', {"retry-after": "0.02"})
    if fault == "429 date":
        return await send(writer, 429, "slow down", {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    if fault == "500":
        return await send(writer, 500, "<html>Internal Server Error</html>")
    if fault == "503":
        return await send(writer, 503, "")
    if fault == "empty body":
        return await send(writer, 200, "")
    if fault == "garbage":
        return await send(
            writer, 200, "\x00<!doctype html> not what was asked {[", {"content-type": "application/json"}
        )
    if fault == "no choices":
        return await send(writer, 200, '{"choices": [], "model": "m"}')
    if fault == "error 200":
        return await send(writer, 200, '{"error": {"message": "upstream is gone"}}')
    if fault == "half reply":
        half = {"choices": [{"message": {"content": "GLAUCOMA NON-"}, "finish_reason": None}]}
        return await send(writer, 200, json.dumps(half))
    if fault == "silence":
        await asyncio.sleep(silence)
    if fault == "half body":
        writer.write(
            b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"choices": [{"mess'
        )
        await writer.drain()
    if fault == "half stream":
        begun = b'{"choices": [{"message": {"content": "GLAUCOMA"'
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%s\r\n" % (len(begun), begun))
        await writer.drain()
    if fault in LISTED:
        writer.write(LISTED[fault]())
        await writer.drain()
    if fault in ENDLESS:
        begun, more, pause = ENDLESS[fault]
        writer.write(begun)
        while True:
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(pause)
    return False  # the connection is closed


async def send(
    writer: asyncio.StreamWriter, status: int, body: str | bytes, headers: dict[str, str] | None = None
) -> bool:
    data = body.encode() if isinstance(body, str) else body
    said = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
    lines = "".join(f"{k}: {v}\r\n" for k, v in said.items())
    writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + data)
    await writer.drain()
    return True


async def main(plan: Plan, port: int) -> None:
    server = Server(plan)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", port, limit=2**26)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


class Running:
    """A server that runs."""

    def __init__(self, port: int, process: subprocess.Popen[str]) -> None:
        self.port, self.process, self.url = port, process, f"http://127.0.0.1:{port}/v1"

    def stats(self) -> dict[str, Any]:
        """Return its counts; `asked` and `sent` by number, the probe under -1."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/stats", timeout=10) as reply:
            stats = json.load(reply)
        return {**stats, **{k: Counter({int(n): c for n, c in stats[k].items()}) for k in ("asked", "sent", "rated")}}


@contextmanager
def serving(plan: Plan, port: int = 0) -> Iterator[Running]:
    """Run a server within the block."""
    command = [sys.executable, str(Path(__file__).resolve()), json.dumps(asdict(plan)), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Running(int(process.stdout.readline()), process)
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main(Plan(**json.loads(sys.argv[1])), int(sys.argv[2])))
