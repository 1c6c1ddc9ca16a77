/**
 * Plays the example without the services, for its tests: the declared tools' own SQL on a database, the stand-in's rules,
 * turn by turn until the answer. Arguments are checked against the declared schemas, results get the envelope that the
 * tool-runner gives them.
 */
import { readFile, readdir } from 'node:fs/promises';
import { type RegistryObject, type Tool, registryObjectSchema, renderObservation } from '@pawl/contracts';
import { type Conversation, type SimCall, type ScriptModel, conversation, loadScript } from '@pawl/sim';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Client } from 'pg';
import { parseAllDocuments } from 'yaml';
import { question } from './example.ts';

const TURNS_MAX = 12;
const VISIBLE_CHARACTERS_MAX = 2_000;

type Messages = Parameters<typeof conversation>[0][number][];

export interface RehearsalOptions {
  client: Client;
  question?: string;
  /** Names of tools that fail whenever they are called. */
  failing?: readonly string[];
  /** Ask for the closing call after this many turns. */
  turnsMax?: number;
}

export interface Rehearsal {
  /** Calls turn by turn, as `tool key=value …`. */
  turns: string[][];
  thoughts: string[];
  /** Tool results as the model got them. */
  results: string[];
  answer: string;
  /** What the cheap model says about the whole conversation. */
  summary: string;
}

/** Every declared object of the example, checked. */
export async function declaredObjects(): Promise<RegistryObject[]> {
  const folder = new URL('objects/', import.meta.url);
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8')));
  const documents = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as unknown));
  return documents.map((document) => registryObjectSchema.parse(document));
}

/** Plays one run to its answer. Throws when a call is invalid, a result is too long, or no answer comes. */
export async function rehearse(options: RehearsalOptions): Promise<Rehearsal> {
  const tools = (await declaredObjects()).filter((object) => object.kind === 'Tool');
  const offered = tools.map((tool) => ({ type: 'function', function: { name: tool.metadata.name } }));
  const models = await loadScript(new URL('model.yaml', import.meta.url).pathname);
  const rehearsal: Rehearsal = { turns: [], thoughts: [], results: [], answer: '', summary: '' };
  const messages: Messages = [{ role: 'user', content: options.question ?? question }];
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const isClosing = turn >= (options.turnsMax ?? TURNS_MAX);
    const reply = await modelNamed(models, 'sim-smart').respond(conversation(messages, isClosing ? [] : offered));
    if (reply.answer !== undefined) {
      const summary = await modelNamed(models, 'sim-fast').respond(summaryRequest(messages));
      return { ...rehearsal, answer: reply.answer, summary: summary.answer ?? '' };
    }
    rehearsal.thoughts.push(reply.say ?? '');
    rehearsal.turns.push((reply.calls ?? []).map(callText));
    const results = await playCalls(reply.calls ?? [], tools, options);
    rehearsal.results.push(...results);
    messages.push(...callMessages(reply.calls ?? [], results, turn));
  }
  throw new Error(`no answer after ${TURNS_MAX} turns: ${JSON.stringify(rehearsal.turns)}`);
}

function modelNamed(models: ReadonlyMap<string, ScriptModel>, name: string): ScriptModel {
  const model = models.get(name);
  if (model === undefined) throw new Error(`no model ${name}`);
  return model;
}

function summaryRequest(messages: Messages): Conversation {
  return conversation([...messages, { role: 'user', content: 'Summarize the key findings.' }], []);
}

async function playCalls(calls: readonly SimCall[], tools: readonly Tool[], options: RehearsalOptions) {
  const results: string[] = [];
  for (const call of calls) {
    const tool = tools.find((candidate) => candidate.metadata.name === call.tool);
    if (tool === undefined) throw new Error(`the model called ${call.tool}, which is not declared`);
    const result = await playCall(call, tool, options);
    if (result.length > VISIBLE_CHARACTERS_MAX) throw new Error(`${call.tool} gave ${result.length} characters`);
    results.push(result);
  }
  return results;
}

async function playCall(call: SimCall, tool: Tool, { client, failing = [] }: RehearsalOptions): Promise<string> {
  checkArguments(call, tool);
  const source = { tool: call.tool, trust: tool.spec.returns?.trust ?? 'untrusted' } as const;
  const rest = { errorCode: null, message: null, suggestion: null, truncated: false, ref: null };
  if (failing.includes(call.tool)) {
    const failure = { errorCode: 'tool_failed', message: 'The database did not answer' };
    return renderObservation({ ...rest, status: 'error', data: null, ...failure }, source);
  }
  const { text, values } = statement(tool, call.args as Record<string, unknown>);
  const { rows, fields } = await client.query(text, values);
  const data = JSON.stringify({ rowCount: rows.length, columns: fields.map((field) => field.name), rows });
  return renderObservation({ ...rest, status: 'ok', data }, source);
}

function checkArguments(call: SimCall, tool: Tool): void {
  const ajv = new Ajv2020({ strict: false });
  if (ajv.validate(tool.spec.parameters ?? {}, call.args)) return;
  throw new Error(`invalid arguments ${callText(call)}: ${ajv.errorsText()}`);
}

/** The SQL of a tool with `$n` in place of `:name`; what is not given is null. */
function statement(tool: Tool, args: Record<string, unknown>): { text: string; values: unknown[] } {
  const { query, queryArgument } = tool.spec.sql ?? {};
  if (queryArgument !== undefined) return { text: String(args[queryArgument]), values: [] };
  const names: string[] = [];
  const text = (query ?? '').replace(/(?<!:):([a-z_]+)/g, (_match, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text, values: names.map((name) => args[name] ?? null) };
}

function callMessages(calls: readonly SimCall[], results: readonly string[], turn: number): Messages {
  const id = (index: number) => `call_${turn}_${index}`;
  const toolCalls = calls.map((call, index) => {
    return { id: id(index), function: { name: call.tool, arguments: JSON.stringify(call.args) } };
  });
  const answers = results.map((content, index) => ({ role: 'tool' as const, tool_call_id: id(index), content }));
  return [{ role: 'assistant', tool_calls: toolCalls }, ...answers];
}

function callText(call: SimCall): string {
  const pairs = Object.entries(call.args as Record<string, unknown>).map(([key, value]) => `${key}=${String(value)}`);
  return [call.tool, ...pairs].join(' ');
}
