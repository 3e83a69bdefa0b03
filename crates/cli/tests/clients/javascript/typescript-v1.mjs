// The official TypeScript client, v1: connect, list the tools, call some, print one JSON document.
//
//   node typescript-v1.mjs --url http://127.0.0.1:7300/mcp --call 'greet={"name":"Ada"}'
//   node typescript-v1.mjs --stdio -- haft serve haft.yaml --stdio
//
// It knows the legacy era only, and opens with `initialize`. Any failure exits with 1.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { readArguments } from './arguments.mjs';

async function run() {
  const { url, command, args, calls } = readArguments(['legacy']);
  const client = new Client({ name: 'haft-foreign-typescript-v1', version: '1.0.0' });
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args });
  const protocolVersion = rememberNegotiated(transport);
  await client.connect(transport);

  const tools = [];
  let cursor;
  do {
    const page = await client.listTools({ cursor });
    tools.push(...page.tools.map(tool => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  const results = [];
  for (const call of calls) results.push(await client.callTool(call));
  const { name, version } = client.getServerVersion();
  console.log(JSON.stringify({
    client: `@modelcontextprotocol/sdk ${installedVersion()}`,
    era: 'legacy',
    protocolVersion: protocolVersion(),
    server: { name, version },
    tools,
    results,
  }));
  if (url) await transport.terminateSession();
  await client.close();
}

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

run().catch(error => {
  console.error(`typescript-v1: ${error.message}`);
  process.exit(1);
});
