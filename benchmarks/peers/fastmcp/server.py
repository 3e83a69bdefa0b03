"""A server on FastMCP, for measurements: `stdio` or `http PORT`. With TOOLS in the environment it has
so many tools of eight properties each, and otherwise `echo` and `add`."""

import os
import sys
from typing import Annotated

from fastmcp import FastMCP

server = FastMCP("fastmcp-peer", version="1.0.0")


def echo(text: str) -> str:
    """Returns the text."""
    return text


def add(a: int, b: int) -> str:
    """Adds two integers."""
    return str(a + b)


def search(
    query: Annotated[str, "What to look for, in the words of the search language of the catalogue"],
    owner: Annotated[str, "Whose records to look through, by the name that they log in with"],
    label: Annotated[str, "A label that each record must have, as it is spelled in the catalogue"],
    state: Annotated[str, "The state that records must be in: open, closed, or all of them"],
    since: Annotated[str, "Leave out what has not changed since this time, in ISO 8601 format"],
    page: Annotated[int, "Which page of the results to return, where the first page is number 1"],
    per_page: Annotated[int, "How many results a page has, of which there can be one hundred at most"],
    archived: Annotated[bool, "Whether to look through records that were put into the archive as well"],
) -> str:
    return query


if "TOOLS" in os.environ:
    for number in range(int(os.environ["TOOLS"])):
        description = (
            f"Looks through catalogue {number} and returns the records that have everything asked for."
        )
        server.tool(search, name=f"search_{number}", description=description, output_schema=None)
else:
    # Like the others: a text, and no structured copy of it.
    server.tool(echo, output_schema=None)
    server.tool(add, output_schema=None)

match sys.argv[1:]:
    case ["stdio"]:
        server.run(transport="stdio", show_banner=False)
    case ["http", port]:
        server.run(
            transport="http", host="127.0.0.1", port=int(port), path="/mcp", show_banner=False,
            stateless_http=True, json_response=True, log_level="WARNING",
            uvicorn_config={"access_log": False},
        )
    case _:
        sys.exit("stdio, or http PORT")
