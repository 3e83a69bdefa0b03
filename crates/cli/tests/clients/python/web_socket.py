"""Asks the server at a URL over WebSocket, with the package `websockets`: prints each answer as a
line, then `ready`, and last how the server closed."""

import json
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "websockets", "version": "1"},
}
ASKED = [
    ("initialize", HELLO),
    ("tools/list", {}),
    ("tools/call", {"name": "greet", "arguments": {"name": "Zo\u00eb"}}),
]

with connect(sys.argv[1], subprotocols=["mcp"], open_timeout=20) as socket:
    assert socket.subprotocol == "mcp"
    for number, (method, params) in enumerate(ASKED):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        # Some in pieces, as clients may.
        text = json.dumps(message)
        socket.send(text if number % 2 else [text[:9], text[9:]])
        answer = socket.recv(timeout=20)
        assert isinstance(answer, str) and "\n" not in answer
        print(json.dumps(json.loads(answer)["result"]), flush=True)
    assert socket.ping().wait(20)
    print("ready", flush=True)
    try:
        socket.recv(timeout=20)
    except ConnectionClosed as closed:
        print(closed.rcvd.code, closed.rcvd.reason, flush=True)
