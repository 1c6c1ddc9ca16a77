/**
 * The script file: models with rules, declared in YAML and checked whole before anything starts. All mistakes of a script
 * are reported together, each with its path.
 */
import { z } from 'zod';
import { parse } from 'yaml';
import type { SimModel, SimReply } from '../completion/reply.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { compileExpression } from './expression.ts';
import { type Rule, decideReply } from './rules.ts';

const expressionSchema = z.string().transform((source, context) => {
  try {
    return compileExpression(source);
  } catch (error) {
    context.addIssue({ code: 'custom', message: `expected a JSONata expression: ${(error as Error).message}` });
    return z.NEVER;
  }
});

const ruleSchema = z
  .strictObject({
    name: z.string().min(1),
    when: expressionSchema,
    say: expressionSchema.optional(),
    calls: expressionSchema.optional(),
    answer: expressionSchema.optional(),
  })
  .refine((rule) => (rule.calls === undefined) !== (rule.answer === undefined), {
    error: 'expected exactly one of calls and answer',
  })
  .refine((rule) => rule.say === undefined || rule.calls !== undefined, { error: 'say goes with calls only' });

const delaySchema = z.number().min(0).max(600_000).optional();

const modelSchema = z.strictObject({
  delayMs: delaySchema,
  firstTokenDelayMs: delaySchema,
  tokenDelayMs: delaySchema,
  let: z.record(z.string().regex(/^[A-Za-z_]\w*$/), expressionSchema).default({}),
  rules: z.array(ruleSchema).min(1),
});

const scriptSchema = z.strictObject({ models: z.record(z.string().min(1), modelSchema) });

/** A model of a script: its reply depends on the conversation alone. */
export interface ScriptModel extends SimModel {
  respond(conversation: Conversation): Promise<SimReply>;
}

/** A script that can't be used; `message` lists every mistake with its path and what was expected. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

/** Models of a script by name. `source` names the file in errors. Throws ScriptError. */
export function parseScript(yamlText: string, source: string): Map<string, ScriptModel> {
  const parsed = scriptSchema.safeParse(parseYaml(yamlText, source));
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `  ${z.core.toDotPath(issue.path) || '(top)'}: ${issue.message}`);
    throw new ScriptError(`${source} is no valid script:\n${lines.join('\n')}`);
  }
  return new Map(Object.entries(parsed.data.models).map(([name, model]) => [name, compileModel(name, model)]));
}

function parseYaml(yamlText: string, source: string): unknown {
  try {
    return parse(yamlText);
  } catch (error) {
    throw new ScriptError(`${source} is no valid YAML: ${(error as Error).message}`, { cause: error });
  }
}

function compileModel(name: string, model: z.infer<typeof modelSchema>): ScriptModel {
  const values = Object.entries(model.let).map(([valueName, value]) => ({ name: valueName, value }));
  const rules = model.rules as Rule[];
  return {
    delayMs: model.delayMs ?? 0,
    firstTokenDelayMs: model.firstTokenDelayMs ?? 0,
    tokenDelayMs: model.tokenDelayMs ?? 0,
    respond: (context) => decideReply({ model: name, values, rules }, context),
  };
}
