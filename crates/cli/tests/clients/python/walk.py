"""The official Python client, v2: connect, list the tools, call some, print one JSON document.

    python python_v2.py --era modern --url http://127.0.0.1:7300/mcp --call 'greet={"name":"Ada"}'
    python python_v2.py --era auto --stdio -- haft serve haft.yaml --stdio

`auto` asks with server/discover and falls back to `initialize`; `modern` speaks 2026-07-28 from its
first request, unasked; `legacy` only knows `initialize`. Any failure exits with 1.
"""

import argparse
import asyncio
import json
import sys
from importlib.metadata import version

from mcp import Client, StdioServerParameters

MODES = {"auto": "auto", "modern": "2026-07-28", "legacy": "legacy"}
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def read_arguments():
    parser = argparse.ArgumentParser()
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--url")
    target.add_argument("--stdio", action="store_true", help="the command follows a bare --")
    parser.add_argument("--era", choices=MODES, default="auto")
    parser.add_argument("--call", action="append", default=[], type=read_call)
    parser.add_argument("command", nargs="*")
    arguments = parser.parse_args()
    if arguments.stdio != bool(arguments.command):
        parser.error("--stdio and a command after -- belong together")
    return arguments


def read_call(text):
    name, _, arguments = text.partition("=")
    return name, json.loads(arguments)


def raw(result):
    return result.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def run(arguments):
    server = arguments.url
    if arguments.stdio:
        server = StdioServerParameters(command=arguments.command[0], args=arguments.command[1:])
    async with Client(server, mode=MODES[arguments.era]) as client:
        page = await client.list_tools()
        # A client that was told the version never hears the server's name from server/discover:
        # only the stamp on the results names it.
        stamp = raw(page).get("_meta", {}).get(SERVER_INFO, {})
        info = raw(client.server_info) if client.server_info else stamp
        tools = page.tools
        while page.next_cursor is not None:
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        results = [raw(await client.call_tool(name, args)) for name, args in arguments.call]
        handshake = client.session.initialize_result
        document = {
            "client": f"mcp {version('mcp')}",
            "era": "modern" if handshake is None else "legacy",
            "protocolVersion": client.protocol_version,
            "server": {"name": info.get("name"), "version": info.get("version")},
            "tools": [tool.name for tool in tools],
            "results": results,
        }
    print(json.dumps(document))


def first_cause(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


try:
    asyncio.run(run(read_arguments()))
except Exception as error:
    sys.exit(f"python_v2: {first_cause(error)}")
