"""What of the environment reaches a request: nothing but the key that is named, and the authorities to trust."""

import asyncio
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from lmod_train.cli import experiment
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.shipped import configs_folder
from lmod_train.models.backends.endpoint.address import route_to
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion
from tests import forks
from tests.tiny import record, write_curated

CONFIGS = configs_folder()
KEY = "sk-named-0123456789abcdef"

PROXIES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "SOCKS_PROXY",
    "WANDB_HTTP_PROXY",
    "WANDB_HTTPS_PROXY",
)
FILES = (
    "NETRC",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SSLKEYLOGFILE",
    "PIP_CONFIG_FILE",
    "CURL_HOME",
    "NODE_EXTRA_CA_CERTS",
)
VALUES = (
    "OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID", "OPENAI_PROJECT",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_WEBHOOK_SECRET", "OPENAI_ADMIN_KEY", "OPENAI_API_TYPE", "OPENAI_API_VERSION", "OPENAI_DEFAULT_HEADERS",
    "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "GITHUB_TOKEN", "USER_AGENT",
    "HTTP_USER_AGENT", "HTTPX_LOG_LEVEL", "REMOTE_USER", "HTTP_AUTHORIZATION", "PROXY_AUTHORIZATION", "COOKIE",
)  # fmt: skip
URLS = (
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "AZURE_OPENAI_ENDPOINT",
    "OPENAI_API_HOST",
    "HF_ENDPOINT",
    "WANDB_BASE_URL",
)


@contextmanager
def recording(secured=None):
    """Serve replies on this machine; yield the port, and all that clients send, as it comes."""
    heard = []

    class Recording(BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(f"{self.requestline}\n{self.headers}".encode())
            heard.append(self.rfile.read(int(self.headers["Content-Length"] or 0)))
            choice = {"message": {"role": "assistant", "content": "GLAUCOMA"}, "finish_reason": "stop"}
            text = json.dumps({"model": "m", "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_CONNECT = do_POST  # noqa: N815

        def log_message(self, *_):
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Recording)
    if secured:
        server.socket = secured.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], heard
    finally:
        server.shutdown()
        server.server_close()


def everything(home, proxy, elsewhere):
    """Return an environment that sets all that a library may read, each with a mark of its own."""
    home.mkdir()
    for name in (".netrc", "_netrc"):
        (home / name).write_text(
            "machine 127.0.0.1 login mark-user password mark-netrc\ndefault login a password mark-netrc\n"
        )
    files = {name: home / f"mark-{name}" for name in FILES}
    for file in files.values():
        file.write_text("machine 127.0.0.1 login mark-user password mark-netrc\n")
    before = {name: file.read_bytes() for name, file in files.items()}
    routes = {
        cased: f"http://mark-user:mark-pass@127.0.0.1:{proxy}" for name in PROXIES for cased in (name, name.lower())
    }
    urls = {name: f"http://127.0.0.1:{elsewhere}/mark-{name}" for name in URLS}
    values = {name: f"mark-{name}-0123456789abcdef" for name in VALUES}
    values["OPENAI_CUSTOM_HEADERS"] = "x-mark: mark-header\nx-other: mark-header"
    more = {"OPENAI_LOG": "debug", "NO_PROXY": "", "no_proxy": "mark-none", "LAB_KEY": KEY, "HOME": str(home)}
    own = {k: v for k, v in os.environ.items() if k not in ("NO_PROXY", "no_proxy")}
    return own | routes | urls | values | {n: str(f) for n, f in files.items()} | more, before


def test_nothing_of_the_environment_reaches_a_request_or_a_file_but_the_named_key(tmp_path):
    (tmp_path / "curated").mkdir()
    asked = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], split="test") for i in range(3)]
    folder = write_curated(tmp_path / "curated", asked)
    with recording() as (port, heard), recording() as (proxy, by_proxy), recording() as (other, elsewhere):
        environment, before = everything(tmp_path / "home", proxy, other)
        assert len(environment.keys() - os.environ.keys()) >= 50
        command = ["test", "--model", CONFIGS / "model/openai.yaml", "--trainer", CONFIGS / "trainer/cpu.yaml"]
        command += ["--data.curated", folder, "--data.tasks", f"[{CONFIGS / 'task/glaucoma.yaml'}]", "--run", "RUN"]
        command += ["--model.backend.base_url", f"http://localhost:{port}/v1", "--model.backend.model", "m"]
        command += ["--model.backend.key_variable", "LAB_KEY"]
        done = forks.run(["-m", "lmod_train", *command], tmp_path, environment)
        assert done.returncode == 0, done.stderr
        report = forks.run(["-m", "lmod_train", "report", "RUN", "--out", "REPORT"], tmp_path, environment)
        assert report.returncode == 0, report.stderr
    assert not by_proxy and not elsewhere
    whole = b"".join(heard)
    assert len(heard) == 2 * (3 + 3) and f"Bearer {KEY}".encode() in whole and b"mark-" not in whole.lower()
    sent = {line.partition(b":")[0].lower() for head in heard[::2] for line in head.split(b"\n")[1:] if line.strip()}
    assert sent == {
        b"host",
        b"authorization",
        b"content-type",
        b"content-length",
        b"accept",
        b"accept-encoding",
        b"user-agent",
    }
    written = [f for f in tmp_path.rglob("*") if f.is_file() and tmp_path / "home" not in f.parents]
    assert len(written) > 10
    texts = [f.read_bytes() for f in written] + [done.stdout.encode(), done.stderr.encode(), report.stdout.encode()]
    assert not [t[:200] for t in texts if b"mark-" in t or KEY[:20].encode() in t]
    assert {name: (tmp_path / "home" / f"mark-{name}").read_bytes() for name in FILES} == before


def asked_of(url, proxy="", key="LAB_KEY"):
    client = Client(route_to(url, proxy), Key(key), 5)
    body = {"model": "m", "messages": [{"role": "user", "content": "#0"}]}
    return asyncio.run(client.attempt(body))[0]


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate by openssl")
def test_a_certificate_is_held_against_the_named_authorities_and_no_secret_is_written(tmp_path, monkeypatch):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    made += ["-addext", "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(made, check=True, capture_output=True)
    monkeypatch.setenv("LAB_KEY", KEY)
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "secrets"))
    secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with recording(secured) as (port, heard):
        url = f"https://localhost:{port}/v1"
        refused = asked_of(url)
        assert "CERTIFICATE_VERIFY_FAILED" in refused.text and refused.unreachable and not heard
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert isinstance(asked_of(url), Completion), (
            "the name of the server is sent and checked, though its address is connected to"
        )
        assert "CERTIFICATE_VERIFY_FAILED" in asked_of(url.replace("localhost", "127.0.0.1")).text, "another name"
        assert f"Host: localhost:{port}".encode() in heard[0]
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
        with pytest.raises(BadArgument, match=r"SSL_CERT_FILE.*none\.pem(?s:.*)`unset"):
            asked_of(url)
    assert not (tmp_path / "secrets").exists()


def test_a_typed_proxy_is_used_judged_and_named(tmp_path, monkeypatch, capsys, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_KEY", KEY)
    (tmp_path / "curated").mkdir()
    asked = [record(f"glaucoma/p/{i}", image=[f"{i}.png"], split="test") for i in range(3)]
    folder = write_curated(tmp_path / "curated", asked)
    command = [
        "test",
        "--model",
        CONFIGS / "model/openai.yaml",
        "--trainer",
        CONFIGS / "trainer/cpu.yaml",
        "--run",
        "RUN",
    ]
    command += [
        "--data.curated",
        folder,
        "--data.tasks",
        f"[{CONFIGS / 'task/glaucoma.yaml'}]",
        "--model.backend.model",
        "m",
    ]
    command += ["--model.backend.key_variable", "LAB_KEY", "--model.backend.base_url", "http://127.0.0.1:9/v1"]
    command += ["--trainer.logger", "false", "--model.backend.pace.attempts", "1"]
    with recording() as (port, heard):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        with pytest.raises(LmodError, match="No record was sent") as caught:
            experiment.run([str(word) for word in command])
        assert not heard
        cure = re.search(r"as http_proxy of the environment is not used, add `(.*)`", str(caught.value))[1]
        option, value = os.path.expandvars(cure.replace('"', "")).split()
        assert experiment.run([*map(str, command), option, value]) == 0
    assert heard[0].startswith(b"POST http://127.0.0.1:9/v1/chat/completions HTTP/1.1"), "by the proxy, in the clear"
    assert f"(through the proxy {value})" in capsys.readouterr().out
    assert value in (tmp_path / "RUN/config.yaml").read_text()
    written = (tmp_path / "RUN/replies/rank-0.jsonl").read_bytes()
    assert experiment.run([str(word) for word in command]) == 0, "another way is not another run"
    assert (tmp_path / "RUN/replies/rank-0.jsonl").read_bytes() == written


def test_the_key_is_not_sent_by_a_proxy_that_can_read_it(monkeypatch):
    from lmod_train.models.backends.openai import OpenAI

    monkeypatch.setenv("LAB_KEY", KEY)
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: [(0, 0, 0, "", ("10.0.0.5", 0))])
    backend = OpenAI("http://127.0.0.1:9/v1", "m", key_variable="LAB_KEY", proxy="http://gateway:3128")
    with pytest.raises(BadArgument, match=r"through the proxy http://gateway:3128(?s:.*)plain_key true"):
        backend.respond(backend.collate([record(image=())], "."))


def test_images_are_not_sent_by_a_proxy_outside(tmp_path):
    from lmod_train.models.backends.openai import OpenAI

    folder = write_curated(tmp_path, [record(image=["0.png"], source="closed")])
    backend = OpenAI("http://127.0.0.1:9/v1", "m", proxy="http://proxy.example.org:3128")
    with pytest.raises(LmodError, match=r"closed would be sent to http.*, outside your network"):
        backend.collate([record(image=["0.png"], source="closed")], folder)
