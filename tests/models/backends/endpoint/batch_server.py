"""A local server of both batch interfaces, of the standard library alone; it counts what it is asked and paid for.

A batch ends when its state has been asked for as often as the server was told. What becomes of a question is that of
the other server's `Plan`, by the number in its text.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.models.backends.endpoint.server import Plan, completion


@dataclass
class Batch:
    """A batch: its requests, questions that expire, what was stored with it, and how often its state was asked for."""

    requests: dict[str, dict[str, Any]]
    gone: set[int]
    metadata: dict[str, str]
    looks: int = 0


@dataclass
class BatchServer:
    """What the server does, and has been asked.

    Attributes:
        plan: Fates of the questions.
        looks: Times that the state of a batch is asked for before it has ended.
        expired: Numbers of questions that are not answered before the batch expires, each once.
        lost: Number of the next creations after which the connection is closed without a response.
        refused: Status of every creation, if not 0.
        batches: Batches by id.
        paid: Number of a question -> how often it was answered.
        headers: Headers of the last request.
        sent: Requests by method and path, ids left out.
    """

    plan: Plan
    looks: int = 1
    expired: set[int] = field(default_factory=set)
    lost: int = 0
    refused: int = 0
    batches: dict[str, Batch] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    paid: Counter[int] = field(default_factory=Counter)
    headers: dict[str, str] = field(default_factory=dict)
    sent: Counter[str] = field(default_factory=Counter)
    url: str = ""

    def create(self, requests: dict[str, dict[str, Any]], metadata: dict[str, str]) -> str:
        """Take a batch, and answer it."""
        id, asked = f"batch_{len(self.batches)}", [number_of(body) for body in requests.values()]
        self.batches[id] = Batch(requests, self.expired & {*asked}, metadata)
        self.paid.update(n for n in asked if n not in self.expired)
        self.expired -= {*asked}
        return id

    def ended(self, id: str) -> bool:
        """Return whether a batch has ended, and count the look."""
        self.batches[id].looks += 1
        return self.batches[id].looks > self.looks

    def results(self, id: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Yield id and completion of each request, in another order than it came; None of one that expired."""
        for custom, body in reversed(self.batches[id].requests.items()):
            n = number_of(body)
            yield custom, None if n in self.batches[id].gone else completion(self.plan, n, "")


def number_of(body: dict[str, Any]) -> int:
    """Return the number of a question."""
    found = re.search(r"#(\d+)", json.dumps(body["messages"]))
    return int(found[1]) if found else -1


def openai(server: BatchServer, method: str, path: str, data: bytes) -> dict[str, Any] | str:
    """Answer a request to OpenAI's interface."""
    if path == "/chat/completions":
        n = number_of(json.loads(data))
        server.paid[n] += 1
        return completion(server.plan, n, "")
    if path == "/files":
        assert b'name="purpose"\r\n\r\nbatch' in data
        lines = data.partition(b"application/jsonl\r\n\r\n")[2].rpartition(b"\r\n--")[0]
        server.files[f"file-{len(server.files)}"] = lines
        return {"id": f"file-{len(server.files) - 1}"}
    if path == "/batches" and method == "POST":
        wanted = json.loads(data)
        lines = server.files[wanted["input_file_id"]].split(b"\n")
        assert (wanted["endpoint"], wanted["completion_window"]) == ("/v1/chat/completions", "24h")
        entries = [json.loads(line) for line in lines]
        assert all((e["method"], e["url"]) == ("POST", wanted["endpoint"]) for e in entries)
        return {"id": server.create({e["custom_id"]: e["body"] for e in entries}, wanted["metadata"])}
    if path == "/batches":
        return {"data": [{"id": id, "metadata": b.metadata} for id, b in reversed(server.batches.items())]}
    if found := re.fullmatch(r"/batches/(\w+)", path):
        id = found[1]
        ended, gone = server.ended(id), server.batches[id].gone
        files = {"output_file_id": f"out-{id}", **({"error_file_id": f"err-{id}"} if gone else {})} if ended else {}
        counts = {"total": len(server.batches[id].requests), "completed": 0, "failed": 0}
        state = ("expired" if gone else "completed") if ended else "in_progress"
        return {"id": id, "status": state, "request_counts": counts, **files}
    found = re.fullmatch(r"/files/(out|err)-(\w+)/content", path)
    assert found is not None, path
    rows = [_line(*row) for row in server.results(found[2]) if (row[1] is None) == (found[1] == "err")]
    return "\n".join(map(json.dumps, rows))


def _line(custom: str, body: dict[str, Any] | None) -> dict[str, Any]:
    if body is None:
        return {"custom_id": custom, "response": None, "error": {"code": "batch_expired", "message": "too late"}}
    return {"custom_id": custom, "response": {"status_code": 200, "body": body}, "error": None}


def anthropic(server: BatchServer, method: str, path: str, data: bytes) -> dict[str, Any] | str:
    """Answer a request to Anthropic's interface."""
    assert server.headers["anthropic-version"] and "authorization" not in server.headers
    if path == "/messages/batches" and method == "POST":
        entries = json.loads(data)["requests"]
        for entry in entries:
            (turn,) = entry["params"]["messages"]
            assert re.fullmatch(r"[\w-]{1,64}", entry["custom_id"]) and entry["params"]["max_tokens"]
            assert {p["type"] for p in turn["content"]} == {"image", "text"}
            assert turn["content"][0]["source"]["media_type"].startswith("image/")
        return {"id": server.create({e["custom_id"]: e["params"] for e in entries}, {})}
    if path == "/messages/batches":
        every = [
            {"id": i, "created_at": "2099-01-01T00:00:00Z", "request_counts": {"succeeded": len(b.requests)}}
            for i, b in server.batches.items()
        ]
        return {"data": every, "has_more": False}
    if found := re.fullmatch(r"/messages/batches/(\w+)", path):
        id = found[1]
        ended = server.ended(id)
        counts = {"processing": 0 if ended else len(server.batches[id].requests), "succeeded": 0}
        return {"id": id, "processing_status": "ended" if ended else "in_progress", "request_counts": counts}
    found = re.fullmatch(r"/messages/batches/(\w+)/results", path)
    assert found is not None, path
    rows = [{"custom_id": custom, "result": _result(body)} for custom, body in server.results(found[1])]
    return "\n".join(map(json.dumps, rows))


def _result(body: dict[str, Any] | None) -> dict[str, Any]:
    if body is None:
        return {"type": "expired"}
    choice = body["choices"][0]
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(choice["finish_reason"], choice["finish_reason"])
    usage = {"input_tokens": body["usage"]["prompt_tokens"], "output_tokens": body["usage"]["completion_tokens"]}
    content = [{"type": "text", "text": choice["message"]["content"]}]
    return {"type": "succeeded", "message": {"content": content, "stop_reason": reason, "usage": usage, "model": "m-1"}}


@contextmanager
def serving_batches(server: BatchServer) -> Iterator[BatchServer]:
    """Run a server within the block, in a thread of this process."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def answer(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            server.headers = {name.lower(): value for name, value in self.headers.items()}
            path = self.path.removeprefix("/v1").partition("?")[0]
            server.sent[f"{self.command} {re.sub(r'(batch|file|out|err)[-_][^/]*', 'ID', path)}"] += 1
            creates = self.command == "POST" and path.endswith("/batches")
            status = server.refused if creates else 0
            reply: dict[str, Any] | str = {"error": {"message": "no"}}
            if not status:
                status = 200
                reply = (anthropic if "/messages" in path else openai)(server, self.command, path, data)
            if creates and server.lost:
                server.lost -= 1
                self.close_connection = True
                return
            body = (reply if isinstance(reply, str) else json.dumps(reply)).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    listening.handle_error = lambda *about: None  # type: ignore[method-assign]  # a client that was killed
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
