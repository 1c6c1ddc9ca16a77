import { expect, test } from 'vitest';
import { serviceOfPath } from './service-list.ts';

test.each([
  ['/v1/runs', 'orchestrator'],
  ['/v1/runs?status=ended', 'orchestrator'],
  ['/v1/runs/r1/events', 'orchestrator'],
  ['/v1/agents/a', 'orchestrator'],
  ['/v1/tools/refund/call', 'tool-runner'],
  ['/v1/chat/completions', 'llm-gateway'],
  ['/v1/keys', 'llm-gateway'],
  ['/v1/traces/r1', 'trace-store'],
  ['/v1/runsaway', 'trace-store'],
  ['/', 'trace-store'],
  ['/assets/page.js', 'trace-store'],
])('%s is answered by %s', (path, name) => expect(serviceOfPath(path).name).toBe(name));
