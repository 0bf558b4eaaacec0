"""Where an endpoint lies."""

import asyncio
import json
import re
import socket

import pytest

from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.models.backends.endpoint.address import check_encrypted, check_sources, checked, route_to
from lmod_train.models.backends.endpoint.client import Client
from lmod_train.models.backends.endpoint.key import Key
from lmod_train.models.backends.endpoint.outcome import Completion
from tests.models.backends.endpoint.server import Plan, serving
from tests.tiny import record


def test_a_slash_at_the_end_is_no_other_server():
    assert checked(" http://localhost:8000/v1/ ") == "http://localhost:8000/v1"


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://x/v1", "http://", "file:///etc/passwd", "socks5://x:1", "http://x:99999/v1",
            "http://localhost\\@evil.com/v1", "http://local\nhost/v1", "http://a b/v1", "http://ｌocalhost/v1"]
)  # fmt: skip
def test_what_is_no_url_is_refused(url):
    for argument in ("base_url", "proxy"):
        with pytest.raises(BadArgument, match=rf"(?s){argument}=.*--model\.backend\.{argument}"):
            checked(url, argument)


@pytest.mark.parametrize("url", ["https://me:sk-secret@host/v1", "https://host/v1?api_key=sk-secret"])
def test_a_secret_in_a_url_is_refused_and_not_repeated(url):
    with pytest.raises(BadArgument, match="key_variable") as caught:
        checked(url)
    assert "sk-secret" not in str(caught.value)


NAMES = {
    "gpu-07": ["10.0.0.7"],
    "gpu.local": ["192.168.1.4", "fe80::1%eth0"],
    "db.internal": ["fd00::7"],
    "api": ["8.8.8.8"],  # by a search domain
    "both": ["10.0.0.7", "8.8.8.8"],
    "six": ["10.0.0.7", "2001:4860:4860::8888"],
    "mapped": ["::ffff:10.0.0.7"],
    "shared": ["100.64.0.1"],
    "public.internal": ["1.1.1.1"],
    "api.example.com": ["10.0.0.9"],  # a private link to a service
    "proxy.example.org": ["203.0.113.5"],
}
"""What the names of these tests lead to; others do not resolve."""


@pytest.fixture(autouse=True)
def resolver(monkeypatch):
    """Answer for names; numbers in all forms are read by the system, and nothing asks the network."""
    real = socket.getaddrinfo

    def found(host, port, *more, **named):
        if host in NAMES:
            return [(0, 0, 0, "", (address, port or 0)) for address in NAMES[host]]
        flags = 0 if host == "localhost" else socket.AI_NUMERICHOST
        return real(host, port, type=socket.SOCK_STREAM, flags=flags)

    monkeypatch.setattr(socket, "getaddrinfo", found)


MACHINE = ["127.0.0.1", "[::1]:8000", "localhost:8000", "2130706433", "0x7f000001", "017700000001", "0.0.0.0", "[::]",
           "[::ffff:127.0.0.1]", "127.9.9.9", "127.1", "0x7f.1", "0177.0.0.1", "localhost.:8000"]  # fmt: skip
NETWORK = ["192.168.1.4", "gpu.local", "gpu-07:8000", "10.0.0.7", "172.31.0.1", "169.254.1.1", "[fe80::1]", "[fd00::1]",
           "db.internal", "mapped", "167772167", "[::ffff:10.0.0.7]"]  # fmt: skip
OUTSIDE = ["api.openai.com", "8.8.8.8", "localhost.evil.com", "134744072", "0x08080808", "[::ffff:8.8.8.8]", "api",
           "both", "six", "shared", "100.64.0.1", "[2001:4860:4860::8888]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]",
           "[2001:0:7f00:1::]", "224.0.0.1", "[ff02::1]", "172.32.0.1", "192.0.2.1", "198.18.0.1", "240.0.0.1",
           "public.internal", "api.example.com", "8.2056", "0x8.0x8.0x8.0x8",
           "1.example.com", "0.0.0.1", "[fec0::1]", "127.0.0.1.nip.io"]  # fmt: skip


@pytest.mark.parametrize("host", MACHINE)
def test_a_key_goes_to_this_machine_as_it_is(host):
    route = route_to(f"http://{host}/v1")
    assert route.place == "machine" and not route.leaves()
    check_encrypted(route)


@pytest.mark.parametrize("host", NETWORK)
def test_a_key_goes_to_another_machine_of_the_network_at_the_users_word(host):
    route = route_to(f"http://{host}/v1")
    assert route.place == "network" and not route.leaves() and route.addresses
    with pytest.raises(BadArgument, match=r"https.*\n.*--model\.backend\.plain_key true"):
        check_encrypted(route)
    check_encrypted(route, allowed=True)
    check_encrypted(route_to(f"https://{host}/v1"))


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_key_goes_to_strangers_encrypted_only(host):
    assert route_to(f"http://{host}/v1").leaves()
    check_encrypted(route_to(f"https://{host}/v1"))
    for allowed in (False, True):
        with pytest.raises(BadArgument, match="https"):
            check_encrypted(route_to(f"http://{host}/v1"), allowed)


@pytest.mark.parametrize(
    ("url", "proxy", "place"),
    [
        ("http://127.0.0.1/v1", "http://localhost:3128", "machine"),
        ("http://127.0.0.1/v1", "http://gpu-07:3128", "network"),  # the proxy's own machine
        ("http://10.0.0.7/v1", "http://localhost:3128", "network"),
        ("http://localhost/v1", "http://localhost:3128", "outside"),  # the proxy resolves names itself
        ("http://127.0.0.1/v1", "http://proxy.example.org:3128", "outside"),
        ("https://127.0.0.1/v1", "http://proxy.example.org:3128", "outside"),  # it decides whose 127.0.0.1
        ("https://10.0.0.7/v1", "https://api:3128", "outside"),
        ("https://api.openai.com/v1", "http://localhost:3128", "outside"),
    ],
)
def test_a_proxy_is_a_receiver(url, proxy, place):
    route = route_to(url, proxy)
    assert route.place == place and proxy in str(route)
    assert route.addresses == route_to(proxy).addresses, "the proxy is connected to"
    if url.startswith("https"):
        check_encrypted(route)
    elif place != "machine":
        with pytest.raises(BadArgument, match=re.escape(proxy)):
            check_encrypted(route)


@pytest.mark.parametrize(("url", "proxy"), [("http://nobody/v1", ""), ("http://10.0.0.7/v1", "http://nobody:1")])
def test_a_name_that_does_not_resolve_is_said_and_neither_near_nor_far(url, proxy):
    with pytest.raises(LmodError, match=r"nobody.*does not resolve\. No record was sent\.\nNext: start the server"):
        route_to(url, proxy).leaves()


def test_what_was_judged_is_connected_to_whatever_the_name_leads_to_later(monkeypatch):
    """A name that leads to this machine when it is judged, and elsewhere afterwards."""
    with serving(Plan(answers=["GLAUCOMA"])) as server:
        monkeypatch.setitem(NAMES, "rebound", ["127.0.0.1"])
        client = Client(route_to(server.url.replace("127.0.0.1", "rebound")), Key(""), 5)
        monkeypatch.setitem(NAMES, "rebound", ["203.0.113.5"])
        ended, _ = asyncio.run(client.attempt({"model": "m", "messages": [{"role": "user", "content": "#0"}]}))
    assert isinstance(ended, Completion) and ended.text.startswith("GLAUCOMA")


def test_the_next_address_of_a_name_is_tried():
    NAMES["two"] = ["::1", "127.0.0.1"]
    with serving(Plan(answers=["GLAUCOMA"])) as server:  # which listens at 127.0.0.1 alone
        client = Client(route_to(server.url.replace("127.0.0.1", "two")), Key(""), 5)
        ended, _ = asyncio.run(client.attempt({"model": "m", "messages": [{"role": "user", "content": "#0"}]}))
    assert isinstance(ended, Completion)


def test_images_that_may_not_be_passed_on_are_not_sent_away(tmp_path):
    sources = {"idrid": {"redistributable": True}, "brset": {"redistributable": False}}
    (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": 4, "sources": sources}))
    free, closed, unknown = (record(source=name) for name in ("idrid", "brset", "other"))
    check_sources([free, record(source="brset", image=[])], tmp_path, [])
    for one in (closed, unknown):
        with pytest.raises(LmodError, match=rf"send_sources.*{one.source}"):
            check_sources([free, one], tmp_path, [])
        check_sources([free, one], tmp_path, [one.source])
    foreign = record(source="idrid", image=["images/brset/1.jpg"])
    with pytest.raises(LmodError, match=r"images of brset"):
        check_sources([free, foreign], tmp_path, [])


def test_records_without_images_need_no_curated_folder(tmp_path):
    check_sources([record(source="brset", image=[])], tmp_path, [])
