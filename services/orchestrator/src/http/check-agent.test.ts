import { agentSchema, RejectedError } from '@pawl/contracts';
import { createTargets } from '@pawl/service/targets';
import { expect, test } from 'vitest';
import { createAgentCheck } from './check-agent.ts';

const check = createAgentCheck(createTargets(['hooks.apps.svc', '10.1.2.3']));
const agentTelling = (url: string) =>
  agentSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Agent',
    metadata: { app: 'demo', name: 'analyst' },
    spec: { instructions: 'go', models: { think: 'smart' }, webhooks: { waiting: { url } } },
  });

test.each([
  'http://hooks.example.com/',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://[::1]/',
  'https://localhost/',
  'https://hooks/',
  'https://hooks.other.svc/',
  'https://hooks.other.svc.cluster.local./',
  'https://metadata.google.internal/',
  'https://user:pw@hooks.example.com/',
])('a webhook to %s is refused when it is declared', (url) => {
  expect(() => check(agentTelling(url))).toThrow(RejectedError);
});

test.each(['https://hooks.example.com/', 'http://hooks.apps.svc/', 'http://10.1.2.3:8080/'])(
  'a webhook to %s may be declared',
  (url) => {
    expect(() => check(agentTelling(url))).not.toThrow();
  },
);
