// What the TypeScript SDK's client lists and calls; printed as one JSON object.
//     node direct_client.mjs MODULES ERA DOES COMMAND ARGUMENT...
// MODULES is the node_modules folder that has @modelcontextprotocol/client, ERA is legacy or auto. DOES is JSON: `calls`,
// names with arguments, are made once they are all listed, `more` after them whether listed or not; `reads` are URIs. The
// client says that it shows pages.
import { pathToFileURL } from 'node:url';

const [modules, mode, does, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${path}.mjs`));
const { Client } = await load('index');
const { StdioClientTransport } = await load('stdio');
const { calls = [], more = [], reads = [] } = JSON.parse(does);

const pages = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const capabilities = { extensions: pages };
const client = new Client({ name: 'typescript', version: '1' }, { versionNegotiation: { mode }, capabilities });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }));

const list = async () => {
  const found = [];
  for (let cursor; ; ) {
    const page = await client.listTools(cursor && { cursor }, { cacheMode: 'refresh' });
    found.push(...page.tools);
    cursor = page.nextCursor;
    if (!cursor) return found;
  }
};
let tools = await list();
while (!calls.every(([name]) => tools.some((tool) => tool.name === name))) tools = await list();
const outcome = (asked) => asked.catch((error) => ({ failed: error.message }));
const results = [];
for (const [name, given] of [...calls, ...more]) results.push(await outcome(client.callTool({ name, arguments: given })));
const contents = [];
for (const uri of reads) contents.push(await outcome(client.readResource({ uri })));
const said = { era: client.getNegotiatedProtocolVersion?.(), tools, results, contents };
process.stdout.write(JSON.stringify(said) + '\n', async () => {
  await client.close();
  process.exit(0);
});
