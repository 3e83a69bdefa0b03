// The official TypeScript client, v2: connects, and takes every step that it can.
//
//   node typescript-v2.mjs --era modern --url http://127.0.0.1:7300/mcp
//   node typescript-v2.mjs --era auto --call 'greet={"name":"Ada"}' --stdio -- haft serve haft.yaml --stdio
//
// `auto` asks with server/discover and falls back to `initialize`; `modern` pins 2026-07-28, for
// which the client has no fallback; `legacy` only knows `initialize`.
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { readArguments } from './arguments.mjs';
import { step } from './report.mjs';
import { ANSWERS, CAPABILITIES, run } from './walk.mjs';

const MODES = { auto: 'auto', modern: { pin: '2026-07-28' }, legacy: 'legacy' };

const asked = readArguments(Object.keys(MODES));
const { url, command, args, era } = asked;
const client = new Client(
  { name: 'haft-foreign-typescript-v2', version: '1.0.0' },
  { capabilities: CAPABILITIES, versionNegotiation: { mode: MODES[era] } },
);
for (const [method, answer] of Object.entries(ANSWERS)) client.setRequestHandler(method, answer);
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args });

const connected = await step('connect', async () => {
  await client.connect(transport);
  const { name, version } = client.getServerVersion() ?? {};
  return {
    client: `@modelcontextprotocol/client ${installedVersion()}`,
    era: client.getProtocolEra(),
    protocolVersion: client.getNegotiatedProtocolVersion(),
    server: { name, version },
  };
});
if (!connected) process.exit(1);

const session = {
  client,
  era: client.getProtocolEra(),
  call: (params, options) => client.callTool(params, options),
  notified: (method, handler) => client.setNotificationHandler(method, handler),
  listen: async filter => (session.era === 'modern' ? client.listen(filter) : undefined),
};
await run(session, asked);
if (url && session.era === 'legacy') await transport.terminateSession();
await client.close();

function installedVersion() {
  const manifest = new URL('../package.json', import.meta.resolve('@modelcontextprotocol/client'));
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}
