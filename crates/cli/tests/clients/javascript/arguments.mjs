// Reads the command line that the clients in JavaScript share. It connects to nothing.
//
//   --url URL | --stdio        the target; with --stdio the command follows a bare `--`, at the end
//   --era auto|modern|legacy   only where the client can choose
//   --lists                    print the names in each list, instead of the walk
//   --call 'NAME={"json":1}'   list, and call this tool, instead of the walk; repeatable, in order
import { parseArgs } from 'node:util';

export function readArguments(eras) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: 'string' },
      stdio: { type: 'boolean', default: false },
      era: { type: 'string', default: eras[0] },
      call: { type: 'string', multiple: true, default: [] },
      lists: { type: 'boolean', default: false },
    },
  });
  if (values.stdio ? values.url || !positionals.length : !values.url || positionals.length) {
    throw new Error('name one target: --url URL, or --stdio -- CMD ARGS');
  }
  if (!eras.includes(values.era)) {
    throw new Error(`--era ${values.era}: this client speaks ${eras.join(', ')}`);
  }
  const [command, ...args] = positionals;
  const { url, era, lists } = values;
  return { url, command, args, era, lists, calls: values.call.map(readCall) };
}

function readCall(text) {
  const cut = text.indexOf('=');
  if (cut < 1) throw new Error(`--call ${text}: write NAME={"json":"arguments"}`);
  return { name: text.slice(0, cut), arguments: JSON.parse(text.slice(cut + 1)) };
}
