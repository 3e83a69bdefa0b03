"""The official Python client, v2: connects, and takes every step that it can.

    python python_v2.py --era modern --url http://127.0.0.1:7300/mcp
    python python_v2.py --era auto --call 'greet={"name":"Ada"}' --stdio -- haft serve haft.yaml --stdio

`auto` asks with server/discover and falls back to `initialize`; `modern` speaks 2026-07-28 from its
first request, unasked; `legacy` only knows `initialize`.
"""

import argparse
import asyncio
import json
import sys
import warnings
from importlib.metadata import version

from mcp import Client, MCPDeprecationWarning, StdioServerParameters, types
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged

MODES = {"auto": "auto", "modern": "2026-07-28", "legacy": "legacy"}
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
STEP_SECONDS = 20
WATCHED = "test://watched-resource"


class Unable(Exception):
    """What a step raises that the client has no way to do."""


def read_arguments():
    parser = argparse.ArgumentParser()
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--url")
    target.add_argument("--stdio", action="store_true", help="the command follows a bare --")
    parser.add_argument("--era", choices=MODES, default="auto")
    parser.add_argument("--lists", action="store_true", help="print the names in each list")
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


async def step(name, run):
    """Prints what came of it; the next step is taken all the same."""
    line = {"step": name}
    try:
        async with asyncio.timeout(STEP_SECONDS):
            line |= {"ok": True, "detail": await run()}
    except Unable as reason:
        line["skipped"] = str(reason)
    except Exception as error:
        line |= {"ok": False, "detail": first_cause(error)}
    print(json.dumps(line), flush=True)


def first_cause(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def check(holds, otherwise):
    if not holds:
        raise AssertionError(repr(otherwise))


async def answer_elicitation(_context, params):
    schema = params.requested_schema
    content = {name: "Alice" for name in schema["properties"]}
    if "email" in content:
        content["email"] = "alice@example.com"
    return types.ElicitResult(action="accept", content=content)


async def answer_sampling(_context, _params):
    content = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def answer_roots(_context):
    roots = [types.Root(uri="file:///one", name="one"), types.Root(uri="file:///two")]
    return types.ListRootsResult(roots=roots)


class Walk:
    """The steps, each a method that returns what is worth telling."""

    def __init__(self):
        self.client = None
        self.modern = False
        self.logged = []
        self.heard = asyncio.Queue()

    async def on_log(self, params):
        self.logged.append(params.data)

    async def on_message(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            await self.heard.put("tools")
        elif isinstance(message, types.ResourceUpdatedNotification):
            await self.heard.put(str(message.params.uri))

    async def steps(self):
        for run in [
            self.list_tools, self.call_tool, self.tool_error, self.list_resources,
            self.read_resource, self.list_templates, self.read_template, self.list_prompts,
            self.get_prompt, self.complete, self.progress, self.log, self.elicit, self.sample,
            self.roots, self.resource_updated, self.list_changed, self.cancel, self.ping,
        ]:
            await step(run.__name__, run)

    async def says(self, name, arguments, part):
        result = await self.client.call_tool(name, arguments)
        check(not result.is_error and part in result.content[0].text, raw(result))
        return result.content[0].text

    async def list_tools(self):
        tools = (await self.client.list_tools()).tools
        names = [tool.name for tool in tools]
        check("test_simple_text" in names, names)
        return len(names)

    async def call_tool(self):
        return await self.says("test_simple_text", {}, "This is a simple text response for testing.")

    async def tool_error(self):
        result = await self.client.call_tool("test_error_handling", {})
        check(result.is_error, raw(result))

    async def list_resources(self):
        uris = [str(resource.uri) for resource in (await self.client.list_resources()).resources]
        check("test://static-text" in uris, uris)
        return len(uris)

    async def reads(self, uri, part):
        contents = (await self.client.read_resource(uri)).contents
        check(len(contents) == 1 and part in contents[0].text, contents)

    async def read_resource(self):
        await self.reads("test://static-text", "This is the content of the static text resource.")

    async def list_templates(self):
        templates = (await self.client.list_resource_templates()).resource_templates
        templates = [template.uri_template for template in templates]
        check("test://template/{id}/data" in templates, templates)
        return len(templates)

    async def read_template(self):
        await self.reads("test://template/123/data", "Data for ID: 123")

    async def list_prompts(self):
        names = [prompt.name for prompt in (await self.client.list_prompts()).prompts]
        check("test_prompt_with_arguments" in names, names)
        return len(names)

    async def get_prompt(self):
        arguments = {"arg1": "ein", "arg2": "zwei"}
        prompt = await self.client.get_prompt("test_prompt_with_arguments", arguments)
        text = prompt.messages[0].content.text
        check(text == "Prompt with arguments: arg1='ein', arg2='zwei'", text)

    async def complete(self):
        prompt = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        result = await self.client.complete(prompt, {"name": "arg1", "value": "test"})
        values = result.completion.values
        check(values == ["test", "testing", "tested"], values)
        return values

    async def progress(self):
        seen = []

        async def on_progress(progress, _total, _message):
            seen.append(progress)

        await self.client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
        check(seen == [0, 50, 100], seen)
        return seen

    async def log(self):
        # In the modern era the client was made with a level, and sends it with each request.
        if not self.modern:
            await self.client.set_logging_level("debug")
        self.logged.clear()
        await self.client.call_tool("test_tool_with_logging", {})
        parts = ["Tool execution started", "Tool processing data", "Tool execution completed"]
        check(self.logged == parts, self.logged)
        return len(self.logged)

    async def elicit(self):
        if self.modern:
            return await self.says("test_input_required_result_elicitation", {}, "Hello, Alice!")
        return await self.says("test_elicitation", {"message": "Who?"}, "action=accept")

    async def sample(self):
        if self.modern:
            return await self.says("test_input_required_result_sampling", {}, "Paris")
        return await self.says("test_sampling", {"prompt": "Where?"}, "LLM response: Paris")

    async def roots(self):
        return await self.says("test_roots", {}, "roots: 2")

    async def resource_updated(self):
        if self.modern:
            async with self.client.listen(resource_subscriptions=[WATCHED]) as events:
                await self.client.call_tool("test_update_watched", {})
                event = await anext(events)
                check(event == ResourceUpdated(uri=WATCHED), event)
            return
        await self.client.subscribe_resource(WATCHED)
        await self.client.call_tool("test_update_watched", {})
        await self.hears(WATCHED)
        await self.client.unsubscribe_resource(WATCHED)

    async def list_changed(self):
        if self.modern:
            async with self.client.listen(tools_list_changed=True) as events:
                await self.client.call_tool("test_trigger_tool_change", {})
                event = await anext(events)
                check(event == ToolsListChanged(), event)
            return
        await self.client.call_tool("test_trigger_tool_change", {})
        await self.hears("tools")

    async def hears(self, wanted):
        while await self.heard.get() != wanted:
            pass

    async def cancel(self):
        slow = asyncio.create_task(self.client.call_tool("test_slow", {"seconds": 60}))
        await self.running(1)
        slow.cancel()
        try:
            check(False, raw(await slow))
        except asyncio.CancelledError:
            pass
        # The server is told, and stops.
        await self.running(0)

    async def running(self, count):
        """Asks until that many slow calls run."""
        text = None
        while text != f"slow calls: {count}":
            text = (await self.client.call_tool("test_slow_running", {})).content[0].text

    async def ping(self):
        if self.modern:
            raise Unable("2026-07-28 has no ping")
        await self.client.send_ping()


async def run(arguments):
    server = arguments.url
    if arguments.stdio:
        server = StdioServerParameters(command=arguments.command[0], args=arguments.command[1:])
    walk = Walk()
    client = Client(
        server,
        mode=MODES[arguments.era],
        elicitation_callback=answer_elicitation,
        list_roots_callback=answer_roots,
        log_level="debug",
        logging_callback=walk.on_log,
        message_handler=walk.on_message,
        sampling_callback=answer_sampling,
    )
    async with client:
        walk.client = client
        walk.modern = client.session.initialize_result is None
        await step("connect", lambda: introduce(client))
        if arguments.lists:
            return await list_everything(client)
        if not arguments.call:
            return await walk.steps()
        await step("list_tools", lambda: names_of_tools(client))
        for name, given in arguments.call:
            await step("call_tool", lambda: call(client, name, given))


async def list_everything(client):
    """The names in every list."""

    async def names(method, member):
        return [entry.name for entry in getattr(await method(), member)]

    await step("tools", lambda: names(client.list_tools, "tools"))
    await step("resources", lambda: names(client.list_resources, "resources"))
    templates = client.list_resource_templates
    await step("resourceTemplates", lambda: names(templates, "resource_templates"))
    await step("prompts", lambda: names(client.list_prompts, "prompts"))


async def introduce(client):
    # A client that was told the version never hears the server's name from server/discover: only
    # the stamp on the results names it.
    stamp = raw(await client.list_tools()).get("_meta", {}).get(SERVER_INFO, {})
    info = raw(client.server_info) if client.server_info else stamp
    return {
        "client": f"mcp {version('mcp')}",
        "era": "modern" if client.session.initialize_result is None else "legacy",
        "protocolVersion": client.protocol_version,
        "server": {"name": info.get("name"), "version": info.get("version")},
    }


async def names_of_tools(client):
    page = await client.list_tools()
    tools = page.tools
    while page.next_cursor is not None:
        page = await client.list_tools(cursor=page.next_cursor)
        tools += page.tools
    return [tool.name for tool in tools]


async def call(client, name, arguments):
    return raw(await client.call_tool(name, arguments))


# What the newer era no longer has is what is tried here.
warnings.simplefilter("ignore", MCPDeprecationWarning)
try:
    asyncio.run(run(read_arguments()))
except Exception as error:
    sys.exit(f"python_v2: {first_cause(error)}")
