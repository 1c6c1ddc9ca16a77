/**
 * What an MCP server's result means for the call. Nothing in it is lost: texts, structured content and media all stay, and the
 * model learns when they don't fit together. Pure.
 */
import { compactJson, maxDepthOf, textData } from '@pawl/calls';
import type { Failure, Result, Stored } from '../../call/outcome.ts';
import { exactNumbers } from './reply-guard.ts';

export type McpResult = { content?: unknown; structuredContent?: unknown; isError?: unknown };

/** Why structured content doesn't fit the tool's own schema, or undefined. */
export type OutputCheck = (structured: unknown) => string | undefined;

/** JSON text of one part: in full, and as the model sees it. */
type Part = { whole: string; shown: string };

const jsonDepthMax = 500;

export function outcomeOfResult(
  result: McpResult,
  hasOutputSchema: boolean,
  outputProblem: OutputCheck,
): Result | Failure {
  const parts = (Array.isArray(result.content) ? result.content : []).map(partOf);
  const structured = result.structuredContent === undefined ? undefined : exactNumbers.print(result.structuredContent);
  const both = { whole: combine(structured, parts, 'whole'), shown: combine(structured, parts, 'shown') };
  if (result.isError === true) return reportedFailure(both.shown);
  const note = noteOn(result, hasOutputSchema, outputProblem);
  return {
    kind: 'result',
    data: both.whole,
    ...(both.shown === both.whole ? {} : { shown: both.shown }),
    ...(note === undefined ? {} : { note }),
  };
}

/** The same for a result that was too large to hold. */
export function outcomeOfLong({ stored, isError }: { stored: Stored; isError: boolean }): Stored | Failure {
  if (isError) return reportedFailure(JSON.stringify(stored.head.slice(0, 4_000).toWellFormed()));
  return { ...stored, note: 'Its texts are at the path /content/0/text and the like.' };
}

function noteOn({ structuredContent, content }: McpResult, hasSchema: boolean, check: OutputCheck): string | undefined {
  if (structuredContent === undefined && hasSchema)
    return 'The tool gave no structured content, although it declares it.';
  if (structuredContent === undefined) {
    return Array.isArray(content) && content.length > 0 ? undefined : 'The tool answered without content.';
  }
  const problem = hasSchema ? check(structuredContent) : undefined;
  return problem === undefined ? undefined : `The structured content doesn't fit what the tool declares: ${problem}`;
}

/** A tool that says that it failed has told what it did. */
function reportedFailure(data: string): Failure {
  return {
    kind: 'failure',
    code: 'tool_failed',
    message: 'The tool reports that it failed.',
    suggestion: 'Read what the tool says, correct the arguments, or use another tool.',
    ...(data === 'null' ? {} : { data }),
    rawError: data.slice(0, 16_000),
    isTransient: false,
    effect: 'none',
  };
}

/** Structured content stands alone where a text only repeats it; else all parts are there. */
function combine(structured: string | undefined, parts: readonly Part[], form: keyof Part): string {
  const texts = parts.map((part) => part[form]);
  if (structured === undefined)
    return texts.length === 0 ? 'null' : texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`;
  const others = texts.filter((text) => text !== structured);
  return others.length === 0 ? structured : `{"structured":${structured},"content":[${others.join(',')}]}`;
}

function partOf(block: unknown): Part {
  if (typeof block !== 'object' || block === null || !('type' in block)) return same(exactNumbers.print(block));
  if (block.type === 'text' && 'text' in block && typeof block.text === 'string') return textPart(block.text);
  if ('data' in block && typeof block.data === 'string') return mediaPart(block, block.data);
  const { resource } = block as { resource?: unknown };
  if (typeof resource !== 'object' || resource === null) return same(exactNumbers.print(block));
  return 'blob' in resource && typeof resource.blob === 'string'
    ? mediaPart(resource, resource.blob)
    : same(exactNumbers.print(block));
}

function same(text: string): Part {
  return { whole: text, shown: text };
}

/** A text that is JSON counts as JSON, digit for digit. */
function textPart(text: string): Part {
  const isJsonLike = /^\s*[[{]/.test(text) && maxDepthOf(text) <= jsonDepthMax;
  if (!isJsonLike) return same(textData(text));
  try {
    JSON.parse(text);
    return same(compactJson(text.trim()));
  } catch {
    return same(textData(text));
  }
}

/** Base64 stays in the whole result; the model sees what it is and how large. */
function mediaPart(block: object, base64: string): Part {
  const { data: _data, blob: _blob, ...described } = block as Record<string, unknown>;
  const bytes = Buffer.byteLength(base64, 'base64');
  return { whole: exactNumbers.print(block), shown: exactNumbers.print({ ...described, bytes }) };
}
