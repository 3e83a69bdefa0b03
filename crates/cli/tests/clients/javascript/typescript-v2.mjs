// The official TypeScript client, v2: connect, list the tools, call some, print one JSON document.
//
//   node typescript-v2.mjs --era modern --url http://127.0.0.1:7300/mcp --call 'greet={"name":"Ada"}'
//   node typescript-v2.mjs --era auto --stdio -- haft serve haft.yaml --stdio
//
// `auto` asks with server/discover and falls back to `initialize`; `modern` pins 2026-07-28, for
// which the client has no fallback; `legacy` only knows `initialize`. Any failure exits with 1.
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { readArguments } from './arguments.mjs';

const MODES = { auto: 'auto', modern: { pin: '2026-07-28' }, legacy: 'legacy' };

async function run() {
  const { url, command, args, era, calls } = readArguments(Object.keys(MODES));
  const client = new Client(
    { name: 'haft-foreign-typescript-v2', version: '1.0.0' },
    { versionNegotiation: { mode: MODES[era] } },
  );
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args });
  await client.connect(transport);

  const spoken = client.getProtocolEra();
  if (era !== 'auto' && spoken !== era) throw new Error(`asked for ${era}, got ${spoken}`);
  const { tools } = await client.listTools();
  const results = [];
  for (const call of calls) results.push(await client.callTool(call));
  const { name, version } = client.getServerVersion() ?? {};
  console.log(JSON.stringify({
    client: `@modelcontextprotocol/client ${installedVersion()}`,
    era: spoken,
    protocolVersion: client.getNegotiatedProtocolVersion(),
    server: { name, version },
    tools: tools.map(tool => tool.name),
    results,
  }));
  if (url && spoken === 'legacy') await transport.terminateSession();
  await client.close();
}

function installedVersion() {
  const manifest = new URL('../package.json', import.meta.resolve('@modelcontextprotocol/client'));
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}

run().catch(error => {
  console.error(`typescript-v2: ${error.message}`);
  process.exit(1);
});
