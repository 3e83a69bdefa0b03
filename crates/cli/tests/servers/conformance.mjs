// The fixture that the interop drivers ask for, on the official TypeScript package, v2: what the
// conformance suite calls, and `test_roots`, `test_update_watched`, `test_slow` and `test_slow_running`.
// Both eras.
//
//   node conformance.mjs --stdio
//   node conformance.mjs --http 127.0.0.1:0          where it listens, it says on stderr
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import {
  McpServer, ResourceTemplate, WebStandardStreamableHTTPServerTransport, acceptedContent,
  completable, createMcpHandler, inputRequired, inputResponse, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { listen } from './listen.mjs';

const WATCHED = 'test://watched-resource';
const CAPABILITIES = {
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
};

const text = value => ({ content: [{ type: 'text', text: value }] });
const user = value => ({ messages: [{ role: 'user', content: { type: 'text', text: value } }] });

// Tells everybody whom this process serves. `modern` is what HTTP's handler offers; over stdio the
// one server there is routes by itself.
const servers = new Set();
let modern;
let slowRunning = 0;
function toolsChanged() {
  modern?.notify.toolsChanged();
  for (const server of servers) server.sendToolListChanged();
}
function watchedUpdated() {
  modern?.notify.resourceUpdated(WATCHED);
  for (const server of servers) server.server.sendResourceUpdated({ uri: WATCHED });
}

function build() {
  const server = new McpServer(
    { name: 'reference-conformance', version: '1.0.0' },
    { capabilities: CAPABILITIES },
  );
  plainTools(server);
  talkingTools(server);
  askingTools(server);
  resources(server);
  prompts(server);
  return server;
}

function plainTools(server) {
  const tool = (name, run) => server.registerTool(name, { description: name }, run);
  tool('test_simple_text', () => text('This is a simple text response for testing.'));
  tool('test_error_handling', () => ({
    ...text('This tool intentionally returns an error for testing'), isError: true,
  }));
  tool('test_trigger_tool_change', () => {
    toolsChanged();
    return text('the list of tools changed');
  });
  tool('test_update_watched', () => {
    watchedUpdated();
    return text('the watched resource was updated');
  });
}

function talkingTools(server) {
  server.registerTool('test_tool_with_progress', { description: 'Three steps.' }, async ctx => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return text('nobody asked for progress');
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      await ctx.mcpReq.notify({ method: 'notifications/progress', params });
      // As the suite has it. A client on this package loses what comes along with the result.
      await setTimeout(50);
    }
    return text(String(progressToken));
  });
  server.registerTool('test_tool_with_logging', { description: 'Logs.' }, async ctx => {
    for (const said of ['started', 'processing', 'completed']) {
      const data = said === 'processing' ? 'Tool processing data' : `Tool execution ${said}`;
      await ctx.mcpReq.log('info', data);
    }
    return text('logged');
  });
  const slow = { description: 'Waits.', inputSchema: z.object({ seconds: z.number() }) };
  server.registerTool('test_slow', slow, async ({ seconds }, { mcpReq }) => {
    slowRunning += 1;
    try {
      await setTimeout(seconds * 1000, undefined, { signal: mcpReq.signal });
    } finally {
      slowRunning -= 1;
    }
    return text(`waited ${seconds} s`);
  });
  const running = { description: 'How many calls of `test_slow` are running.' };
  server.registerTool('test_slow_running', running, () => text(`slow calls: ${slowRunning}`));
}

// Each asks once. In the legacy era the package turns the question into a request to the client.
function askingTools(server) {
  const username = z.object({ username: z.string(), email: z.string() });
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user.', inputSchema: z.object({ message: z.string() }) },
    ({ message }, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'user');
      if (answer.kind === 'elicit') {
        const content = JSON.stringify(answer.content ?? {});
        return text(`User response: action=${answer.action}, content=${content}`);
      }
      const user = inputRequired.elicit({ message, requestedSchema: username });
      return inputRequired({ inputRequests: { user } });
    },
  );
  const name = z.object({ name: z.string() });
  const who = { description: 'Asks for a name.' };
  server.registerTool('test_input_required_result_elicitation', who, ({ mcpReq }) => {
    const content = acceptedContent(mcpReq.inputResponses, 'user_name', name);
    if (content) return text(`Hello, ${content.name}!`);
    const question = { message: 'What is your name?', requestedSchema: name };
    return inputRequired({ inputRequests: { user_name: inputRequired.elicit(question) } });
  });
  const sample = (prompt, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'completion');
    if (answer.kind === 'sampling') return text(`LLM response: ${answer.result.content.text}`);
    const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
    const completion = inputRequired.createMessage({ messages, maxTokens: 100 });
    return inputRequired({ inputRequests: { completion } });
  };
  server.registerTool(
    'test_sampling',
    { description: 'Asks a model.', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, ctx) => sample(prompt, ctx),
  );
  server.registerTool('test_input_required_result_sampling', { description: 'Asks.' }, ctx =>
    sample('What is the capital of France?', ctx));
  server.registerTool('test_roots', { description: 'Asks for roots.' }, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'roots');
    if (answer.kind === 'roots') return text(`roots: ${answer.roots.length}`);
    // The package's own `listRoots()` has no `params`, which the client in Go cannot read.
    return inputRequired({ inputRequests: { roots: { method: 'roots/list', params: {} } } });
  });
}

function resources(server) {
  const add = (name, uri, value) =>
    server.registerResource(name, uri, { mimeType: 'text/plain' }, () => ({
      contents: [{ uri, mimeType: 'text/plain', text: value }],
    }));
  add('static', 'test://static-text', 'This is the content of the static text resource.');
  add('watched', WATCHED, 'watched');
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  const mimeType = 'application/json';
  server.registerResource('template', template, { mimeType }, (uri, { id }) => {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return { contents: [{ uri: uri.href, mimeType, text: JSON.stringify(data) }] };
  });
  // The era that has them registers these; the other refuses the methods by itself.
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

function prompts(server) {
  const argsSchema = z.object({
    arg1: completable(z.string(), begun => ['test', 'testing', 'tested'].filter(v => v.startsWith(begun))),
    arg2: z.string(),
  });
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Takes two.', argsSchema },
    ({ arg1, arg2 }) => user(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  );
}

function connected() {
  const server = build();
  servers.add(server);
  server.server.onclose = () => servers.delete(server);
  return server;
}

// The package serves the modern era, and the other only without sessions, so those are held here.
const sessions = new Map();
async function legacy(request) {
  const known = sessions.get(request.headers.get('mcp-session-id'));
  if (known) return known.handleRequest(request);
  if (request.headers.has('mcp-session-id')) return new Response(null, { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: id => sessions.set(id, transport),
    onsessionclosed: id => sessions.delete(id),
  });
  await connected().connect(transport);
  return transport.handleRequest(request);
}

if (process.argv[2] === '--stdio') {
  serveStdio(connected);
} else {
  modern = createMcpHandler(build, { legacy: 'reject' });
  listen(process.argv[3], async request =>
    await isLegacyRequest(request) ? legacy(request) : modern.fetch(request));
}
