"""A server of the legacy era over stdio whose lists are what the arguments say, flaws and all:

    python flawed.py 'tools=[{"name":"x","inputSchema":true}]' 'prompts=[null]'

The texts become part of its answers as they are, so they need not even be JSON. A call is answered
with the name of its tool, as often as `times` among its arguments says, and a resource is read as
its address.
"""

import json
import sys

LISTS = dict(argument.split("=", 1) for argument in sys.argv[1:])
METHODS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def result(method, params):
    if method == "initialize":
        capabilities = {"tools": {}, "resources": {}, "prompts": {}}
        server = {"name": "flawed", "version": "1"}
        return json.dumps(
            {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": server}
        )
    if method in METHODS:
        member = METHODS[method]
        return '{"%s":%s}' % (member, LISTS.get(member, "[]"))
    if method == "tools/call":
        times = (params.get("arguments") or {}).get("times", 1)
        return json.dumps({"content": [{"type": "text", "text": params["name"] * times}]})
    if method == "resources/read":
        return json.dumps({"contents": [{"uri": params["uri"], "text": params["uri"]}]})
    return "{}"


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = result(message.get("method"), message.get("params") or {})
        print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(message["id"]), answer), flush=True)
