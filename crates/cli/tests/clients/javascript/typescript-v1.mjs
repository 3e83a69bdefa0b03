// The official TypeScript client, v1: connects, and takes every step that it can.
//
//   node typescript-v1.mjs --url http://127.0.0.1:7300/mcp
//   node typescript-v1.mjs --call 'greet={"name":"Ada"}' --stdio -- haft serve haft.yaml --stdio
//
// It knows the legacy era only, and opens with `initialize`.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
  LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { readArguments } from './arguments.mjs';
import { step } from './report.mjs';
import { ANSWERS, CAPABILITIES, run } from './walk.mjs';

// This client names its messages by their schemas.
const SCHEMAS = {
  'elicitation/create': ElicitRequestSchema,
  'notifications/message': LoggingMessageNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': ToolListChangedNotificationSchema,
  'roots/list': ListRootsRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
};

const asked = readArguments(['legacy']);
const { url, command, args } = asked;
const client = new Client(
  { name: 'haft-foreign-typescript-v1', version: '1.0.0' },
  { capabilities: CAPABILITIES },
);
for (const [method, answer] of Object.entries(ANSWERS)) {
  client.setRequestHandler(SCHEMAS[method], answer);
}
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args });
const protocolVersion = rememberNegotiated(transport);

const connected = await step('connect', async () => {
  await client.connect(transport);
  const { name, version } = client.getServerVersion();
  return {
    client: `@modelcontextprotocol/sdk ${installedVersion()}`,
    era: 'legacy',
    protocolVersion: protocolVersion(),
    server: { name, version },
  };
});
if (!connected) process.exit(1);

const session = {
  client,
  era: 'legacy',
  call: (params, options) => client.callTool(params, undefined, options),
  notified: (method, handler) => client.setNotificationHandler(SCHEMAS[method], handler),
  listen: async () => undefined,
};
await run(session, asked);
if (url) await transport.terminateSession();
await client.close();

// This client tells the negotiated version to its transport only, and only if the transport asks.
function rememberNegotiated(transport) {
  let negotiated;
  const original = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = version => {
    negotiated = version;
    original?.(version);
  };
  return () => negotiated;
}

// The package closes its own package.json off, so the path is walked up to from a module of it.
function installedVersion() {
  const entry = import.meta.resolve('@modelcontextprotocol/sdk/client/index.js');
  const manifest = new URL('../../../package.json', entry);
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}
