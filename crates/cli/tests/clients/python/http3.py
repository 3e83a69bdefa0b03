"""Asks the server at a URL over HTTP/3, with the package `aioquic`: a list, and a call whose body
comes in two pieces. Prints each result as a line, then `ready`, and last that the server has gone.
The second argument is the certificate that it trusts."""

import asyncio
import json
import sys
from urllib.parse import urlsplit

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
ASKED = [
    ("tools/list", {}, []),
    ("tools/call", {"name": "greet", "arguments": {"name": "Zo\u00eb"}}, [(b"mcp-name", b"greet")]),
]


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.http = H3Connection(self._quic)
        self.answers = {}

    def quic_event_received(self, event):
        for said in self.http.handle_event(event):
            if isinstance(said, (HeadersReceived, DataReceived)):
                head, body, ended = self.answers[said.stream_id]
                if isinstance(said, HeadersReceived):
                    head.update(said.headers)
                else:
                    body.extend(said.data)
                if said.stream_ended:
                    ended.set_result(None)

    async def ask(self, url, number, method, params, more):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        body = json.dumps({**message, "params": {**params, "_meta": META}}).encode()
        stream = self._quic.get_next_available_stream_id()
        ended = asyncio.get_running_loop().create_future()
        self.answers[stream] = ({}, bytearray(), ended)
        headers = [
            (b":method", b"POST"),
            (b":scheme", b"https"),
            (b":authority", url.netloc.encode()),
            (b":path", url.path.encode()),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            (b"mcp-protocol-version", VERSION.encode()),
            (b"mcp-method", method.encode()),
        ]
        self.http.send_headers(stream, headers + more)
        self.http.send_data(stream, body[:9], end_stream=False)
        self.transmit()
        self.http.send_data(stream, body[9:], end_stream=True)
        self.transmit()
        await asyncio.wait_for(ended, 20)
        head, answer, _ = self.answers.pop(stream)
        assert head[b":status"] == b"200", (head, answer)
        return json.loads(answer)["result"]


async def main():
    url = urlsplit(sys.argv[1])
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN)
    configuration.load_verify_locations(sys.argv[2])
    configuration.server_name = "localhost"
    opened = connect(url.hostname, url.port, configuration=configuration, create_protocol=Client)
    async with opened as client:
        for number, (method, params, more) in enumerate(ASKED):
            result = await client.ask(url, number, method, params, more)
            print(json.dumps(result), flush=True)
        print("ready", flush=True)
        await asyncio.wait_for(client.wait_closed(), 20)
        print("gone", flush=True)


asyncio.run(main())
