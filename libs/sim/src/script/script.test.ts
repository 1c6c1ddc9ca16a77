import { describe, expect, test } from 'vitest';
import type { ChatMessage } from '../conversation/chat-request.ts';
import { conversation } from '../conversation/conversation.ts';
import { ScriptError, parseScript } from './script.ts';

const SCRIPT = `
models:
  clerk:
    tokenDelayMs: 1
    let:
      rows: observations[tool='read'].data.rows
      worst: $rows[change = $min($rows.change)][0].key
    rules:
      - name: look
        when: $count(observations) = 0 and 'read' in tools
        say: "'Known: nothing. Next: read.'"
        calls: "[{ 'tool': 'read', 'args': { 'month': '2026-02' } }]"
      - name: single
        when: question = 'one'
        calls: "{ 'tool': 'read' }"
      - name: nothing
        when: question = 'none'
        calls: "[]"
      - name: finish
        when: $exists($worst)
        answer: "'It is ' & $worst"
      - name: fails
        when: question = 'boom'
        answer: "1 + 'x'"
`;

function ask(question: string, rows?: unknown) {
  const messages: ChatMessage[] = [{ role: 'user', content: question }];
  if (rows !== undefined) {
    const content = JSON.stringify({ status: 'ok', data: { rows } });
    messages.push({ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'read', arguments: '{}' } }] });
    messages.push({ role: 'tool', tool_call_id: 'c', content });
  }
  const seen = conversation(messages, [{ type: 'function', function: { name: 'read' } }]);
  return parseScript(SCRIPT, 'test.yaml').get('clerk')?.respond(seen);
}

describe('rules', () => {
  test('the first rule that holds gives thought and calls', async () => {
    expect(await ask('Why?')).toEqual({
      say: 'Known: nothing. Next: read.',
      calls: [{ tool: 'read', args: { month: '2026-02' } }],
    });
  });

  test('the answer follows the data', async () => {
    const rows = [
      { key: 'B', change: 1 },
      { key: 'C', change: -5 },
    ];
    expect(await ask('Why?', rows)).toEqual({ answer: 'It is C' });
    expect(await ask('Why?', [...rows, { key: 'D', change: -9 }])).toEqual({ answer: 'It is D' });
  });

  test('one call without a list is a list of one', async () => {
    expect(await ask('one', [])).toEqual({ calls: [{ tool: 'read', args: {} }] });
  });

  test('no rule, no call and a failing expression are named', async () => {
    await expect(ask('other', [])).rejects.toThrow(
      /no rule of model clerk matches: question "other", turn 1, tools read/,
    );
    await expect(ask('none', [])).rejects.toThrow(/model clerk, rule nothing, calls: expected at least one/);
    await expect(ask('boom', [])).rejects.toThrow(/model clerk, rule fails, answer: JSONata T2002/);
  });
});

describe('a bad script', () => {
  test('reports all mistakes together, each with its path', () => {
    const bad = `
models:
  m:
    delayMs: -1
    rules:
      - { name: a, when: "1 +", answer: "'x'" }
      - { name: b, when: "true", say: "'x'" }
      - { name: c, when: "true", answer: "'x'", colour: red }
`;
    const message = messageOf(() => parseScript(bad, 'bad.yaml'));
    expect(message).toContain('bad.yaml is no valid script');
    expect(message).toMatch(/models\.m\.delayMs: .*0/);
    expect(message).toMatch(/models\.m\.rules\[0\]\.when: expected a JSONata expression/);
    expect(message).toMatch(/models\.m\.rules\[1\]: expected exactly one of calls and answer/);
    expect(message).toMatch(/models\.m\.rules\[2\]: .*colour/);
  });

  test('text that is no YAML says where', () => {
    expect(() => parseScript('models: [', 'bad.yaml')).toThrow(/bad\.yaml is no valid YAML: .*line 1/s);
  });
});

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return error instanceof ScriptError ? error.message : `no ScriptError: ${String(error)}`;
  }
  return 'nothing was thrown';
}
