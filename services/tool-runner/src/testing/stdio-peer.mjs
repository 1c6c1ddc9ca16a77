/** An MCP server of the older revisions over standard streams, for tests: it tells about itself, floods, holds and dies. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { givenEnvironment } from './config.ts';

const counts = { held: 0, cancelled: 0 };
const names = ['environment', 'echo', 'flood', 'hold', 'state', 'pid', 'exit', 'spawn', 'ask'];
/** Calls of `ask` that have not asked yet. */
const asking = [];
const send = (text) => process.stdout.write(`${text}\n`);
const result = (id, value) => send(JSON.stringify({ result: value, jsonrpc: '2.0', id }));
const text = (id, value) => result(id, { content: [{ type: 'text', text: value }] });

const tools = {
  environment: (id) => text(id, JSON.stringify(givenEnvironment())),
  echo: (id, _args, line) => text(id, /"arguments":(\{.*?\})[,}]/.exec(line)?.[1] ?? '{}'),
  flood(id, { bytes }) {
    process.stdout.write('{"result":{"content":[{"type":"text","text":"');
    const piece = 'x'.repeat(100_000);
    let sent = 0;
    const more = () => {
      while (sent < bytes) {
        sent += piece.length;
        if (!process.stdout.write(piece)) return process.stdout.once('drain', more);
      }
      send(`"}]},"jsonrpc":"2.0","id":${id}}`);
    };
    more();
  },
  hold: () => void (counts.held += 1),
  state: (id) => text(id, JSON.stringify(counts)),
  pid: (id) => text(id, `pid ${process.pid}`),
  exit: () => process.exit(1),
  /** Asks a person as soon as so many calls of it are there, and says what came of it. */
  ask(id, { together }) {
    asking.push(id);
    if (asking.length < together) return;
    for (const each of asking.splice(0)) {
      const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } };
      const params = { message: 'Which city?', requestedSchema };
      send(JSON.stringify({ jsonrpc: '2.0', id: `ask-${each}`, method: 'elicitation/create', params }));
    }
  },
  spawn(id) {
    const child = spawn('sleep', ['600'], { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } });
    text(id, JSON.stringify([process.pid, child.pid]));
  },
};

send('Welcome. This line is no message.');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result: answer } = JSON.parse(line);
  if (method === undefined) return void text(Number(String(id).slice(4)), answer.action);
  if (method === 'initialize') {
    const serverInfo = { name: 'stdio-peer', version: '1' };
    result(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
  } else if (method === 'tools/list') {
    result(id, { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) });
  } else if (method === 'tools/call') tools[params.name](id, params.arguments, line);
  else if (method === 'notifications/cancelled') counts.cancelled += 1;
  else if (id !== undefined)
    send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }));
});
