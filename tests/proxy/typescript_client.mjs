// What the TypeScript SDK's client finds, gets, reads, completes and hears; printed as one JSON object.
//     node typescript_client.mjs MODULES ERA COMMAND ARGUMENT...
// MODULES is the node_modules folder that has @modelcontextprotocol/client, ERA is legacy or auto. The server behind
// mcpctl is that of the official suite, called `suite`.
import { pathToFileURL } from 'node:url';

const [modules, mode, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${path}.mjs`));
const { Client } = await load('index');
const { StdioClientTransport } = await load('stdio');

const client = new Client({ name: 'typescript', version: '1' }, { versionNegotiation: { mode } });
const waiting = [];
const heard = [];
for (const method of ['notifications/resources/updated', 'notifications/prompts/list_changed']) {
  client.setNotificationHandler(method, (notification) => {
    heard.push(notification);
    waiting.splice(0).forEach((wake) => wake());
  });
}
const hears = async (method) => {
  for (;;) {
    const at = heard.findIndex((each) => each.method === method);
    if (at >= 0) return heard.splice(at, 1)[0].params?.uri ?? null;
    await new Promise((wake) => waiting.push(wake));
  }
};
const until = async (list) => {
  for (;;) {
    const found = await list();
    if (found.length) return found;
  }
};
const call = (tool) => client.callTool({ name: 'tool_execute', arguments: { toolKey: `suite:${tool}` } });
const WATCHED = 'test://watched-resource';
const fresh = { cacheMode: 'refresh' };

await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }));
const era = client.getNegotiatedProtocolVersion?.();
await client.listTools();
const prompts = await until(async () => (await client.listPrompts(undefined, fresh)).prompts);
const templates = await until(async () => (await client.listResourceTemplates(undefined, fresh)).resourceTemplates);
const { resources } = await client.listResources(undefined, fresh);
const got = await client.getPrompt({
  name: 'suite_test_prompt_with_arguments', arguments: { arg1: 'a b', arg2: 'é' },
});
const read = await client.readResource({ uri: 'test://template/7/data' });
const complete = (ref) => client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
const completed = [
  await complete({ type: 'ref/prompt', name: 'suite_test_prompt_with_arguments' }),
  await complete({ type: 'ref/resource', uri: 'test://template/{id}/data' }),
];
const modern = era === '2026-07-28';
const listening = modern
  ? await client.listen({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [WATCHED] })
  : await client.subscribeResource({ uri: WATCHED });
await call('test_trigger_resource_change');
const updated = await hears('notifications/resources/updated');
await call('test_trigger_prompt_change');
await hears('notifications/prompts/list_changed');
const changed = (await client.listPrompts(undefined, fresh)).prompts.length - prompts.length;
await (modern ? listening.close() : client.unsubscribeResource({ uri: WATCHED }));
const said = {
  era, changed, updated,
  capabilities: client.getServerCapabilities(),
  honoured: modern ? listening.honoredFilter : null,
  prompts: prompts.map((each) => each.name),
  resources: resources.map((each) => each.uri),
  templates: templates.map((each) => each.uriTemplate),
  got: got.messages[0].content.text,
  read: read.contents[0].text,
  completed: completed.map((each) => each.completion.values),
};
process.stdout.write(JSON.stringify(said) + '\n', async () => {
  await client.close();
  process.exit(0);
});
