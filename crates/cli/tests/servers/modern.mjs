// A server on the official TypeScript package, v2, which speaks both eras.
//
//   node modern.mjs stdio [only-modern]
//   node modern.mjs http [only-modern]      on a free port, which it says on stderr
import { createServer } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (value, more = {}) => ({ content: [{ type: 'text', text: value }], ...more });

function build() {
  const server = new McpServer(
    { name: 'official', version: '2.4.0', title: 'The official one' },
    { capabilities: { tools: {}, logging: {} }, instructions: 'Greet first.' },
  );
  const tool = (name, description, shape, run) =>
    server.registerTool(name, { description, inputSchema: z.object(shape) }, run);
  tool('greet', 'Greets.', { name: z.string() }, async ({ name }) => text(`Hello, ${name}!`));
  tool('where', 'Says where.', {
    region: z.string().meta({ 'x-mcp-header': 'Region' }),
  }, async ({ region }) => text(region));
  tool('fail', 'Fails.', {}, async () => text('It cannot be done.', { isError: true }));
  tool('steps', 'Takes two steps.', {}, async (_, { mcpReq }) => {
    await mcpReq.log('warning', 'two steps to go', 'stairs');
    for (const progress of [1, 2]) {
      const params = { progressToken: mcpReq._meta?.progressToken, progress, total: 2, message: 'up' };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return text('done');
  });
  tool('wait', 'Never answers.', {}, async (_, { mcpReq }) => {
    await mcpReq.log('info', 'waiting');
    await new Promise(() => {});
  });
  return server;
}

const options = process.argv[3] === 'only-modern' ? { legacy: 'reject' } : {};
if (process.argv[2] === 'stdio') {
  serveStdio(build, options);
} else {
  const handler = createMcpHandler(build, options);
  const listener = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: Object.entries(request.headers),
      body: chunks.length ? Buffer.concat(chunks) : undefined,
    }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  listener.listen(0, '127.0.0.1', () => {
    console.error(`listening at http://127.0.0.1:${listener.address().port}/mcp`);
  });
}
