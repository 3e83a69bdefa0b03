// The steps of the two TypeScript clients, which differ in names only. The scripts of the clients
// call it with what they connected; it opens and closes nothing.
//
//   client        the SDK's own
//   era           what it speaks by now
//   call          (params, options) => result of tools/call
//   notified      (method, handler): runs the handler for each such notification
//   listen        (filter) => subscription, or nothing in the legacy era
import { Unable, check, expected, step } from './report.mjs';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const WATCHED = 'test://watched-resource';

// What the client tells about itself, and answers when it is asked.
export const CAPABILITIES = { elicitation: {}, roots: { listChanged: true }, sampling: {} };
export const ANSWERS = {
  'elicitation/create': ({ params }) => ({ action: 'accept', content: fill(params.requestedSchema) }),
  'roots/list': () => ({ roots: [{ uri: 'file:///one', name: 'one' }, { uri: 'file:///two' }] }),
  'sampling/createMessage': () => ({
    model: 'none', role: 'assistant', content: { type: 'text', text: 'Paris' },
  }),
};

function fill({ properties }) {
  const value = name => (name === 'email' ? 'alice@example.com' : 'Alice');
  return Object.fromEntries(Object.keys(properties).map(name => [name, value(name)]));
}

// Lists and calls what the command line asked for.
async function listAndCall({ client, call }, calls) {
  await step('list_tools', async () => (await client.listTools()).tools.map(tool => tool.name));
  for (const params of calls) await step('call_tool', () => call(params));
}

// The names in every list.
async function listEverything({ client }) {
  const names = list => list.map(item => item.name);
  await step('tools', async () => names((await client.listTools()).tools));
  await step('resources', async () => names((await client.listResources()).resources));
  await step('resourceTemplates', async () =>
    names((await client.listResourceTemplates()).resourceTemplates));
  await step('prompts', async () => names((await client.listPrompts()).prompts));
}

// What the command line asked for.
export async function run(session, { calls, lists }) {
  if (lists) await listEverything(session);
  else if (calls.length) await listAndCall(session, calls);
  else await walk(session);
}

async function walk(session) {
  await lists(session);
  await talks(session);
  await asks(session);
  await hears(session);
  await stops(session);
}

async function lists({ client, call }) {
  const names = list => list.map(item => item.name ?? item.uri);
  await step('list_tools', async () => {
    const { tools } = await client.listTools();
    check(names(tools).includes('test_simple_text'), names(tools));
    return tools.length;
  });
  await step('call_tool', () =>
    says(call({ name: 'test_simple_text', arguments: {} }), 'This is a simple text response for testing.'));
  await step('tool_error', async () => {
    const result = await call({ name: 'test_error_handling', arguments: {} });
    check(result.isError === true, result);
  });
  await step('list_resources', async () => {
    const { resources } = await client.listResources();
    check(resources.some(({ uri }) => uri === 'test://static-text'), names(resources));
    return resources.length;
  });
  await step('read_resource', () =>
    reads('test://static-text', 'This is the content of the static text resource.'));
  await step('list_templates', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    const template = 'test://template/{id}/data';
    check(resourceTemplates.some(t => t.uriTemplate === template), names(resourceTemplates));
    return resourceTemplates.length;
  });
  await step('read_template', () => reads('test://template/123/data', 'Data for ID: 123'));
  await step('list_prompts', async () => {
    const { prompts } = await client.listPrompts();
    check(names(prompts).includes('test_prompt_with_arguments'), names(prompts));
    return prompts.length;
  });
  await step('get_prompt', async () => {
    const given = { arg1: 'ein', arg2: 'zwei' };
    const prompt = { name: 'test_prompt_with_arguments', arguments: given };
    const { messages } = await client.getPrompt(prompt);
    const { text } = messages[0].content;
    check(text === "Prompt with arguments: arg1='ein', arg2='zwei'", text);
  });
  await step('complete', async () => {
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'test' },
    });
    check(`${completion.values}` === 'test,testing,tested', completion);
    return completion.values;
  });

  async function reads(uri, part) {
    const { contents } = await client.readResource({ uri });
    check(contents.length === 1 && contents[0].text.includes(part), contents);
  }
}

async function talks({ client, era, call, notified }) {
  await step('progress', async () => {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    await call({ name: 'test_tool_with_progress', arguments: {} }, { onprogress });
    check(`${seen}` === '0,50,100', seen);
    return seen;
  });
  await step('log', async () => {
    const seen = [];
    notified('notifications/message', ({ params }) => seen.push(params.data));
    const params = { name: 'test_tool_with_logging', arguments: {} };
    if (era === 'legacy') await client.setLoggingLevel('debug');
    else params._meta = { [LOG_LEVEL]: 'debug' };
    await call(params);
    const all = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
    check(`${seen}` === `${all}`, seen);
    return seen.length;
  });
}

async function asks({ era, call }) {
  await step('elicit', () => (era === 'legacy'
    ? says(call({ name: 'test_elicitation', arguments: { message: 'Who?' } }), 'action=accept')
    : says(call({ name: 'test_input_required_result_elicitation', arguments: {} }), 'Hello, Alice!')));
  await step('sample', () => (era === 'legacy'
    ? says(call({ name: 'test_sampling', arguments: { prompt: 'Where?' } }), 'LLM response: Paris')
    : says(call({ name: 'test_input_required_result_sampling', arguments: {} }), 'Paris')));
  await step('roots', () => says(call({ name: 'test_roots', arguments: {} }), 'roots: 2'));
}

async function hears({ client, era, call, notified, listen }) {
  await step('resource_updated', async () => {
    const updated = expected();
    notified('notifications/resources/updated', ({ params }) => updated.arrive(params.uri));
    if (era === 'legacy') await client.subscribeResource({ uri: WATCHED });
    const subscription = await listen({ resourceSubscriptions: [WATCHED] });
    await call({ name: 'test_update_watched', arguments: {} });
    const uri = await updated.value;
    check(uri === WATCHED, uri);
    if (era === 'legacy') await client.unsubscribeResource({ uri: WATCHED });
    await subscription?.close();
  });
  await step('list_changed', async () => {
    const changed = expected();
    notified('notifications/tools/list_changed', () => changed.arrive());
    const subscription = await listen({ toolsListChanged: true });
    await call({ name: 'test_trigger_tool_change', arguments: {} });
    await changed.value;
    await subscription?.close();
  });
}

async function stops({ client, era, call }) {
  await step('cancel', async () => {
    const stop = new AbortController();
    const slow = call({ name: 'test_slow', arguments: { seconds: 60 } }, { signal: stop.signal });
    const ended = slow.then(result => check(false, result), caught => caught);
    await running(call, 1);
    stop.abort(new Error('no longer wanted'));
    const error = await ended;
    check(error.message.includes('no longer wanted'), error.message);
    // The server is told, and stops.
    await running(call, 0);
  });
  await step('ping', async () => {
    if (era === 'modern') throw new Unable('2026-07-28 has no ping');
    await client.ping();
  });
}

// Asks until that many slow calls run.
async function running(call, count) {
  for (;;) {
    const { content } = await call({ name: 'test_slow_running', arguments: {} });
    if (content[0].text === `slow calls: ${count}`) return;
  }
}

async function says(called, part) {
  const { content, isError } = await called;
  check(!isError && content.length === 1 && content[0].text.includes(part), content);
  return content[0].text;
}
