"""A server on a Python package, over the wire that is named:

    python plain.py mcp|fastmcp stdio|http|sse

The last two listen on a free port of the loopback interface; uvicorn says on stderr where.
"""

import sys

from pydantic import BaseModel

package, wire = sys.argv[1:]
if package == "mcp":
    from mcp.server.mcpserver import MCPServer

    server, more = MCPServer("python"), {}
else:
    from fastmcp import FastMCP

    server, more = FastMCP("fast"), {"show_banner": False}


class Place(BaseModel):
    name: str
    height: float


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def greet(name: str = "you") -> str:
    """Greets."""
    return f"Hello, {name}!"


@server.tool()
def place() -> Place:
    """Says where."""
    return Place(name="Å", height=1.5)


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it cannot be done")


@server.resource(f"{package}://one")
def one() -> str:
    """The first."""
    return "one"


@server.prompt()
def visit(day: str) -> str:
    """Asks for a visit."""
    return f"Come on {day}."


wires = {"stdio": "stdio", "http": "streamable-http", "sse": "sse"}
if wire != "stdio":
    more["port"] = 0
server.run(wires[wire], **more)
