/** The model endpoint of the gateway bench, as a process of its own: answers after a fixed time, whole or as a stream. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const answerAfterMs = 10;
const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
const words = 'It is product line C because customer A cancelled. '.split(/(?<= )/);

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const text = Buffer.concat(parts).toString();
    const isStream = text.startsWith('{') && (JSON.parse(text) as { stream?: boolean }).stream === true;
    setTimeout(() => {
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      response.end(isStream ? streamBody() : JSON.stringify(unaryBody()));
    }, answerAfterMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

function unaryBody(): object {
  const message = { role: 'assistant', content: words.join('') };
  return { ...head('chat.completion'), choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
}

function streamBody(): string {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head('chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks = [
    ...words.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    { ...chunk({}), choices: [], usage },
  ];
  return [...chunks.map((one) => JSON.stringify(one)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
}

function head(object: string): object {
  return { id: 'chatcmpl-1', object, created: 1, model: 'm' };
}
