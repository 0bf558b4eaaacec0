"""Connections that are used again, and requests as bytes, against sockets and JSON of the standard library."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.models.backends.endpoint.address import Route
from lmod_train.models.backends.endpoint.client import encoded
from lmod_train.models.backends.endpoint.connections import READ_AHEAD, Connections, Judged, Stream

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK"


@asynccontextmanager
async def listening(serve):
    """Run a server; yield its port and the list of its connections."""
    made = []

    async def one(reader, writer):
        made.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], made
    finally:
        server.close()
        for writer in made:
            writer.close()


async def read_one(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


async def answering(reader, writer):
    while await read_one(reader):
        writer.write(OK)


async def ask(connections, content=b"x"):
    headers = {"Host": "h", "Content-Length": str(len(content))}
    async with connections.response("POST", "/chat", headers, content) as response:
        return b"".join([part async for part in response.aiter_stream()])


def connected(port):
    return Connections(Route(f"http://127.0.0.1:{port}/v1", "", "machine", ("127.0.0.1",)))


def test_a_connection_serves_one_request_after_the_other_and_several_serve_those_at_once():
    async def scenario():
        async with listening(answering) as (port, made):
            connections = connected(port)
            assert [await ask(connections) for _ in range(5)] == [b"OK"] * 5 and len(made) == 1
            assert await asyncio.gather(*(ask(connections) for _ in range(4))) == [b"OK"] * 4 and len(made) == 4
            await connections.close()

    asyncio.run(scenario())


def test_one_that_the_server_has_closed_or_that_was_not_read_to_its_end_is_not_used_again():
    async def once(reader, writer):
        await read_one(reader)
        writer.write(OK)
        writer.close()

    async def scenario():
        async with listening(once) as (port, made):
            connections = connected(port)
            for number in range(1, 4):
                assert await ask(connections) == b"OK"
                await made[-1].wait_closed()
                (free,) = connections._free
                while not free.has_expired():
                    await asyncio.sleep(0)
                assert len(made) == number
        async with listening(answering) as (port, made):
            connections = connected(port)
            with pytest.raises(RuntimeError):
                async with connections.response("POST", "/", {"Host": "h", "Content-Length": "0"}, b""):
                    raise RuntimeError
            assert await ask(connections) == b"OK" and len(made) == 2

    asyncio.run(scenario())


def test_what_comes_unasked_marks_a_connection_as_used_up():
    """Else it would be taken for the reply to the next request."""

    async def unasked(reader, writer):
        await read_one(reader)
        writer.write(OK)
        await asyncio.Event().wait()

    async def scenario():
        async with listening(unasked) as (port, made):
            connections = connected(port)
            assert await ask(connections) == b"OK"
            (free,) = connections._free
            assert not free.has_expired()
            made[0].write(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nBAD")
            while not free.has_expired():
                await asyncio.sleep(0)
            assert await ask(connections) == b"OK" and len(made) == 2

    asyncio.run(scenario())


def test_head_and_body_are_sent_together_and_a_server_that_sends_much_has_to_wait():
    size = 40 * READ_AHEAD

    async def large(reader, writer):
        writer.write(b"".join([await reader.readexactly(6), bytes(size)]))
        await writer.drain()
        writer.close()

    async def scenario():
        async with listening(large) as (port, _):
            stream = await Judged(Route("", "", "machine", ("127.0.0.1",))).connect_tcp("unused.invalid", port)
            assert isinstance(stream, Stream)
            await stream.write(b"abc")
            await stream.write(b"def")
            found = bytearray(await stream.read(6))
            most = 0
            while part := await stream.read(2**16):
                found += part
                most = max(most, len(stream._data))
            assert found == b"abcdef" + bytes(size) and most <= 2 * READ_AHEAD
            await stream.aclose()

    asyncio.run(scenario())


def test_the_next_address_is_tried_and_none_is_an_error_of_the_connection():
    async def scenario():
        async with listening(answering) as (port, made):
            both = Connections(Route(f"http://name:{port}/v1", "", "network", ("127.0.0.2", "127.0.0.1")))
            assert await ask(both) == b"OK" and len(made) == 1
        with pytest.raises(httpcore2.ConnectError):
            await ask(connected(9))

    asyncio.run(scenario())


urls = st.sampled_from(["data:image/png;base64,AAAA", "data:image/jpeg;base64," + "B/+=" * 50, 'data:"', "https://x/é"])
parts = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, st.text()),
    st.builds(lambda u: {"type": "image_url", "image_url": {"url": u, "detail": "low"}}, urls),
)


@given(st.lists(st.one_of(st.text(), st.lists(parts))), st.dictionaries(st.text(), st.text()))
def test_a_request_is_the_json_of_its_fields(contents, extra):
    body = {**extra, "messages": [{"role": "user", "content": content} for content in contents]}
    assert encoded(body) == json.dumps(body).encode()
