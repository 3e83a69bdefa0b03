// A server on the official TypeScript package, v2, that asks back, has resources and prompts, and
// changes. Its tools are written once; the package asks in the way of either era.
//
//   node asking.mjs stdio
//   node asking.mjs http              both eras, the legacy one without sessions
//   node asking.mjs http sessions     the legacy era with sessions, whose streams can be resumed
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import {
  McpServer, ResourceTemplate, UrlElicitationRequiredError, WebStandardStreamableHTTPServerTransport,
  completable, createMcpHandler, inputRequired,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const json = (value) => text(JSON.stringify(value));
// Tells those who listen over HTTP in the modern era, where no server outlives a request.
let handler;
let extras = 0;

const REGISTRATION = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 3, description: 'As on the badge.' },
    age: { type: 'integer', minimum: 18, default: 36 },
    colour: {
      type: 'string',
      oneOf: [{ const: '#f00', title: 'Red' }, { const: '#0f0', title: 'Green' }],
    },
    days: {
      type: 'array', minItems: 1,
      items: { anyOf: [{ const: 'sat', title: 'Saturday' }, { const: 'sun', title: 'Sunday' }] },
    },
    news: { type: 'boolean', default: false },
  },
  required: ['name', 'days'],
};

function asking(server) {
  const tool = (name, run, shape = {}) =>
    server.registerTool(name, { description: `Asks: ${name}.`, inputSchema: z.object(shape) }, run);
  // Asks once, and says what it was told.
  const once = (name, requests) =>
    tool(name, async (_, { mcpReq }) =>
      mcpReq.inputResponses ? json(mcpReq.inputResponses) : inputRequired(requests()));
  const form = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
  const yes = { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'] };
  once('register', () => ({ inputRequests: { form: form('Who are you?', REGISTRATION) } }));
  once('agree', () => ({ inputRequests: { it: form('Is that so?', { type: 'object', properties: {} }) } }));
  once('evil', () => ({
    inputRequests: {
      it: form('\u001b]0;owned\u0007\u001b[2J\u009b31mHello\u202e', {
        type: 'object',
        properties: {
          'x\u001b[31m': {
            type: 'string', title: 'T\u001b[1A', description: '\u001b[5mD',
            enum: ['a'], enumNames: ['\u001b[7mA'],
          },
        },
      }),
    },
  }));
  once('think', () => ({
    inputRequests: {
      model: inputRequired.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: 'What is 6 by 7?' } }], maxTokens: 10,
      }),
    },
  }));
  once('where', () => ({ inputRequests: { roots: inputRequired.listRoots() } }));
  once('pay', () => ({
    inputRequests: {
      page: inputRequired.elicitUrl({ message: 'Pay first.', url: 'https://pay.example.com/?bill=7' }),
    },
  }));
  tool('steps', async (_, { mcpReq }) => {
    const step = mcpReq.requestState() ?? '0';
    if (step === '2') return text('two steps');
    const requestState = String(Number(step) + 1);
    return inputRequired({ inputRequests: { yes: form(`Step ${requestState}?`, yes) }, requestState });
  });
  // An error of 2025-11-25 only; `pay` is what a server of today does.
  let wasSent = false;
  tool('visit', async () => {
    if (wasSent) return text('you were there');
    wasSent = true;
    const elicitationId = 'v1';
    const url = 'https://login.example.com/';
    throw new UrlElicitationRequiredError([{ mode: 'url', message: 'Log in.', url, elicitationId }]);
  });
}

function build() {
  const server = new McpServer(
    { name: 'curious', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true }, prompts: { listChanged: true }, logging: {}, completions: {},
        resources: { subscribe: true, listChanged: true },
      },
    },
  );
  asking(server);
  const tool = (name, description, run) => server.registerTool(name, { description, inputSchema: z.object({}) }, run);
  tool('change', 'Changes tools and a resource.', async () => {
    handler?.notify.toolsChanged();
    handler?.notify.resourceUpdated('memo://today');
    extras += 1;
    tool(`extra-${extras}`, 'New.', async () => text('new'));
    await server.server.sendResourceUpdated({ uri: 'memo://today' }).catch(() => {});
    return text('changed');
  });
  tool('poll', 'Hangs up, and answers who comes back.', async (_, { mcpReq, http }) => {
    const progress = (progress) => mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: mcpReq._meta?.progressToken, progress, total: 2 },
    });
    await progress(1);
    http?.closeSSE?.();
    await progress(2);
    return text('welcome back');
  });
  const memo = { description: 'What is up.', mimeType: 'text/plain' };
  server.registerResource('today', 'memo://today', memo, async (uri) =>
    ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Nothing yet.' }] }));
  server.registerResource('logo', 'memo://logo', { mimeType: 'image/png' }, async (uri) =>
    ({ contents: [{ uri: uri.href, mimeType: 'image/png', blob: 'iVBORw0KGgo=' }] }));
  const template = new ResourceTemplate('memo://day/{day}', {
    list: undefined, complete: { day: (day) => ['monday', 'sunday'].filter((one) => one.startsWith(day)) },
  });
  server.registerResource('day', template, { description: 'A day.' }, async (uri, { day }) =>
    ({ contents: [{ uri: uri.href, text: `It was ${day}.` }] }));
  const argsSchema = z.object({
    language: completable(z.string(), (value) => ['Rust', 'Ruby'].filter((one) => one.startsWith(value))),
    tone: z.string().optional(),
  });
  server.registerPrompt('review', { description: 'Reviews code.', argsSchema }, async ({ language }, { mcpReq }) => {
    const file = mcpReq.inputResponses?.file?.content?.file;
    const properties = { file: { type: 'string' } };
    const requestedSchema = { type: 'object', properties, required: ['file'] };
    return file
      ? { messages: [{ role: 'user', content: { type: 'text', text: `Review ${file} in ${language}.` } }] }
      : inputRequired({ inputRequests: { file: inputRequired.elicit({ message: 'Which file?', requestedSchema }) } });
  });
  server.server.setRequestHandler('resources/subscribe', async () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
  return server;
}

// Keeps what was said on every stream, for those who come back.
function eventStore() {
  const events = [];
  return {
    async storeEvent(streamId, message) {
      events.push({ streamId, message });
      return String(events.length);
    },
    async getStreamIdForEventId(id) {
      return events[Number(id) - 1]?.streamId;
    },
    async replayEventsAfter(id, { send }) {
      const { streamId } = events[Number(id) - 1];
      for (let at = Number(id); at < events.length; at += 1) {
        if (events[at].streamId === streamId) await send(String(at + 1), events[at].message);
      }
      return streamId;
    },
  };
}

const sessions = new Map();

async function inSession(request) {
  const known = sessions.get(request.headers.get('mcp-session-id'));
  if (known) return known.handleRequest(request);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    eventStore: eventStore(),
    retryInterval: 200,
  });
  await build().connect(transport);
  return transport.handleRequest(request);
}

if (process.argv[2] === 'stdio') {
  serveStdio(build);
} else {
  handler = process.argv[3] === 'sessions' ? undefined : createMcpHandler(build);
  const serve = handler ? handler.fetch : inSession;
  const listener = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const gone = new AbortController();
    const answer = await serve(new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: Object.entries(request.headers),
      body: chunks.length ? Buffer.concat(chunks) : undefined,
      signal: gone.signal,
    }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    const reader = answer.body?.getReader();
    response.on('close', () => {
      gone.abort();
      reader?.cancel().catch(() => {});
    });
    for (;;) {
      const { value, done } = await reader?.read() ?? { done: true };
      if (done) break;
      response.write(value);
    }
    response.end();
  });
  listener.listen(0, '127.0.0.1', () => {
    console.error(`listening at http://127.0.0.1:${listener.address().port}/mcp`);
  });
}
