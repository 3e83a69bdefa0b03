// A server on the official TypeScript package, for measurements: `stdio` or `http PORT`. With TOOLS in
// the environment it has so many tools of eight properties each, and otherwise `echo` and `add`.
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (value) => ({ content: [{ type: 'text', text: value }] });

// Schemas are made once; the package asks for a server for each request over HTTP.
const echo = z.object({ text: z.string() });
const add = z.object({ a: z.number().int(), b: z.number().int() });
const search = z.object({
  query: z.string().describe('What to look for, in the words of the search language of the catalogue'),
  owner: z.string().describe('Whose records to look through, by the name that they log in with'),
  label: z.string().describe('A label that each record must have, as it is spelled in the catalogue'),
  state: z.string().describe('The state that records must be in: open, closed, or all of them'),
  since: z.string().describe('Leave out what has not changed since this time, in ISO 8601 format'),
  page: z.number().int().describe('Which page of the results to return, where the first page is number 1'),
  per_page: z.number().int().describe('How many results a page has, of which there can be one hundred at most'),
  archived: z.boolean().describe('Whether to look through records that were put into the archive as well'),
});

function build() {
  const server = new McpServer({ name: 'typescript-peer', version: '1.0.0' });
  if (process.env.TOOLS) {
    for (let number = 0; number < Number(process.env.TOOLS); number += 1) {
      const description = `Looks through catalogue ${number} and returns the records that have everything asked for.`;
      server.registerTool(`search_${number}`, { description, inputSchema: search }, async ({ query }) => text(query));
    }
    return server;
  }
  server.registerTool('echo', { description: 'Returns the text.', inputSchema: echo }, async (given) => text(given.text));
  server.registerTool('add', { description: 'Adds two integers.', inputSchema: add }, async ({ a, b }) => text(String(a + b)));
  return server;
}

const [wire, port] = process.argv.slice(2);
if (wire === 'stdio') {
  serveStdio(build);
} else {
  const handle = toNodeHandler(createMcpHandler(build));
  const isHostRight = localhostHostValidation();
  const isOriginRight = localhostOriginValidation();
  createServer((request, response) => {
    if (isHostRight(request, response) && isOriginRight(request, response)) void handle(request, response);
  }).listen(Number(port), '127.0.0.1');
}
