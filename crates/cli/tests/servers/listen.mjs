// Serves a function from Request to Response at an address, HOST:PORT, and says on stderr where. It
// knows nothing of MCP.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export function listen(address, serve) {
  const [host, port] = address.split(':');
  const listener = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const answer = await serve(new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method,
      headers: Object.entries(incoming.headers),
      body: chunks.length ? Buffer.concat(chunks) : undefined,
      signal: gone.signal,
    }));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    outgoing.flushHeaders();
    // A client that goes away in the middle is no fault.
    if (answer.body) await pipeline(Readable.fromWeb(answer.body), outgoing).catch(() => {});
    else outgoing.end();
  });
  listener.listen(Number(port), host, () => {
    console.error(`serving the fixture at http://${host}:${listener.address().port}/mcp`);
  });
}
