/** P5: an agent as a model of the OpenAI-compatible API, through all four services. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { startProcesses, type Processes } from './processes.ts';

const servers = useTestServers();
let pawl: Processes;

beforeAll(async () => {
  const respond = ({ question }: { question: string }) => ({ answer: `Answered: ${question}` });
  pawl = await startProcesses({ servers, models: { scripted: { respond } } });
  await pawl.api.putAgent('analyst', {});
});
afterAll(() => pawl.stop());

const chat = (body: object) => {
  const request = { model: 'agent:analyst', messages: [{ role: 'user', content: 'Why did sales drop?' }], ...body };
  return pawl.api.send<string | Record<string, unknown>>('POST', `${pawl.urls.llmGateway}/v1/chat/completions`, {
    body: request,
  });
};

it('runs the loop and gives its answer, whole and as a stream', async () => {
  const { status, body, headers } = await chat({});
  expect({ status, body }).toMatchObject({
    status: 200,
    body: {
      object: 'chat.completion',
      choices: [{ message: { content: 'Answered: Why did sales drop?' }, finish_reason: 'stop' }],
    },
  });
  const runId = headers.get('x-pawl-run') ?? '';
  const run = await pawl.api.send<{ agent: string }>('GET', `${pawl.urls.orchestrator}/v1/runs/${runId}`);
  expect(run.body).toMatchObject({ agent: 'analyst', stopReason: 'final_answer' });
  const streamed = await chat({ stream: true });
  expect(streamed.body).toContain('Answered: Why did sales drop?');
  expect(streamed.body).toContain('data: [DONE]');
});

it('is listed beside the models, and its calls are in the books once', async () => {
  const models = await pawl.api.send<{ data: { id: string }[] }>('GET', `${pawl.urls.llmGateway}/v1/models`);
  expect(models.body.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['smart', 'scripted', 'agent:analyst']));
  const spent = () => pawl.api.send<{ items: { calls: number }[] }>('GET', `${pawl.urls.llmGateway}/v1/spend?by=agent`);
  const items = await eventually(async () => {
    const { body } = await spent();
    return body.items[0]?.calls === pawl.sim.requestCount && body.items;
  });
  expect(items).toMatchObject([{ agent: 'analyst', calls: 2 }]);
});
