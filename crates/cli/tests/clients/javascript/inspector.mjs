// The inspector's command line, which does one thing a run, in the steps of the other clients.
//
//   node inspector.mjs --era modern --url http://127.0.0.1:7300/mcp
//   node inspector.mjs --era auto --call 'greet={"name":"Ada"}' --stdio -- haft serve haft.yaml --stdio
//
// `auto` asks with server/discover and falls back to `initialize`; `modern` has no fallback;
// `legacy` only knows `initialize`.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readArguments } from './arguments.mjs';
import { Unable, check, step } from './report.mjs';

const MODERN = '2026-07-28';
const TOOL_FAILED = 5;
const HOME = new URL('node_modules/@modelcontextprotocol/inspector/', import.meta.url);
const { version, bin } = JSON.parse(readFileSync(new URL('package.json', HOME), 'utf8'));
const INSPECTOR = fileURLToPath(new URL(bin['mcp-inspector'], HOME));

const { url, command, args, era, calls } = readArguments(['auto', 'modern', 'legacy']);
const target = url ? ['--transport', 'http', '--server-url', url] : ['--', command, ...args];

// One run, to its end.
function run(method, ...options) {
  const words = [
    INSPECTOR, '--cli', '--format', 'json', '--quiet', '--connect-timeout', '0',
    '--protocol-era', era, '--method', method, ...options, ...target,
  ];
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, words, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
    child.stdin.end();
  });
}

// What a run that has to end well prints.
async function asks(method, ...options) {
  const { code, stdout, stderr } = await run(method, ...options);
  check(code === 0, `exit code ${code}: ${stderr || stdout}`);
  return JSON.parse(stdout).result;
}

function calling(name, given) {
  return ['--tool-name', name, '--tool-args-json', JSON.stringify(given)];
}

// The result is on stdout also when the tool failed; the exit code and stderr say that it did.
async function call(name, given) {
  const { code, stdout, stderr } = await run('tools/call', ...calling(name, given));
  const { result } = JSON.parse(stdout || '{}');
  const failed = code === TOOL_FAILED && JSON.parse(stderr).error.code === 'tool_is_error';
  check(code === 0 || failed, `exit code ${code}: ${stderr || stdout}`);
  check(failed === (result.isError === true), result);
  return result;
}

async function listAndCall() {
  await step('list_tools', async () => (await asks('tools/list')).tools.map(tool => tool.name));
  for (const { name, arguments: given } of calls) await step('call_tool', () => call(name, given));
}

async function walk() {
  const steps = [
    ['list_tools', () => lists('tools/list', 'tools', t => t.name === 'test_simple_text')],
    ['call_tool', () => says('test_simple_text', 'This is a simple text response for testing.')],
    ['tool_error', async () => {
      const result = await call('test_error_handling', {});
      check(result.isError === true, result);
    }],
    ['list_resources', () =>
      lists('resources/list', 'resources', r => r.uri === 'test://static-text')],
    ['read_resource', () =>
      reads('test://static-text', 'This is the content of the static text resource.')],
    ['list_templates', () => lists('resources/templates/list', 'resourceTemplates',
      t => t.uriTemplate === 'test://template/{id}/data')],
    ['read_template', () => reads('test://template/123/data', 'Data for ID: 123')],
    ['list_prompts', () =>
      lists('prompts/list', 'prompts', p => p.name === 'test_prompt_with_arguments')],
    ['get_prompt', async () => {
      const given = ['--prompt-args', 'arg1=ein', 'arg2=zwei'];
      const prompt = ['--prompt-name', 'test_prompt_with_arguments'];
      const { messages } = await asks('prompts/get', ...prompt, ...given);
      const { text } = messages[0].content;
      check(text === "Prompt with arguments: arg1='ein', arg2='zwei'", text);
    }],
    ['complete', () => lacks('it has no method that completes')],
    ['progress', () => lacks('it asks for no progress')],
    ['log', () => lacks('it shows no log messages')],
    ['elicit', () => lacks('it does not offer to be asked')],
    ['sample', () => lacks('it offers no model')],
    // It says that it has roots, and there are none.
    ['roots', () => says('test_roots', 'roots: 0')],
    ['resource_updated', () => lacks('it has no method that subscribes')],
    ['list_changed', () => lacks('it ends before anything changes')],
    ['cancel', () => lacks('it has no way to cancel')],
    ['ping', () => lacks('it has no method that pings')],
  ];
  for (const [name, take] of steps) await step(name, take);
}

async function lists(method, field, wanted) {
  const { [field]: list } = await asks(method);
  check(list.some(wanted), list);
  return list.length;
}

async function says(name, part) {
  const result = await call(name, {});
  check(!result.isError && result.content[0].text.includes(part), result);
  return result.content[0].text;
}

async function reads(uri, part) {
  const { contents } = await asks('resources/read', '--uri', uri);
  check(contents.length === 1 && contents[0].text.includes(part), contents);
}

async function lacks(reason) {
  throw new Unable(reason);
}

const connected = await step('connect', async () => {
  const { protocolVersion, serverInfo } = await asks('initialize');
  return {
    client: `@modelcontextprotocol/inspector ${version}`,
    era: protocolVersion === MODERN ? 'modern' : 'legacy',
    protocolVersion,
    server: { name: serverInfo?.name, version: serverInfo?.version },
  };
});
if (!connected) process.exit(1);
await (calls.length ? listAndCall() : walk());
