/**
 * Validates arguments against a tool's JSON Schema: 2020-12, 2019-09 or draft-07, told by `$schema`.
 * Fails closed. Nothing is coerced, removed or filled in; nothing is fetched. Patterns run in linear time (RE2), and
 * whatever else a hostile schema may do ends after a bounded time. Compiled validators are kept by schema hash, up to a bound.
 */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormatsModule, { type FormatsPlugin } from 'ajv-formats';
import { RE2JS } from 're2js';
import { fingerprint } from '@pawl/contracts';
import { describeErrors } from './argument-errors.ts';
import { createBoundedRun, TimeUsedUpError, type BoundedRun } from './bounded-run.ts';
import { checkSchemaBounds, dialects, type Dialect } from './schema-bounds.ts';

const compileBudgetMs = 500;
const validateBudgetMs = 100;
/** Up to this length, arguments of a tame schema are checked without a watch on the time, which costs most of a millisecond. */
const shortCharsMax = 4_096;
/** Above this size only the first error is told, because collecting all may cost much memory. */
const allErrorsCharsMax = 32_768;

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Verdict = { isValid: true } | { isValid: false; message: string };

export type ArgumentValidator = {
  /** Compiles the meta-schemas, which takes some 100 ms, so that no call has to wait for it. */
  warmUp(): void;
  /** A sentence on why the schema can't be used, or undefined when it can. */
  schemaProblem(schema: JsonSchema): string | undefined;
  validate(schema: JsonSchema, args: { value: unknown; charCount: number }): Verdict;
};

type Compiled =
  | { dialect: Dialect; isTame: boolean; first: ValidateFunction; all?: ValidateFunction }
  | { problem: string };

/** Makes a validator that keeps up to `schemasMax` compiled schemas (default 500). */
export function createArgumentValidator({ schemasMax = 500 }: { schemasMax?: number } = {}): ArgumentValidator {
  const run = createBoundedRun();
  const hashes = new WeakMap<object, string>();
  const kept = new Map<string, Compiled>();
  const metaAjv = new Map<Dialect, Ajv>();

  const compiledOf = (schema: JsonSchema): Compiled => {
    const known = hashes.get(schema);
    const found = known === undefined ? undefined : kept.get(known);
    if (known !== undefined && found) {
      kept.delete(known);
      kept.set(known, found);
      return found;
    }
    const bounds = checkSchemaBounds(schema);
    if ('problem' in bounds) return bounds;
    const hash = known ?? fingerprint(schema);
    hashes.set(schema, hash);
    const compiled = kept.get(hash) ?? compile(schema, { ...bounds, run, metaAjv });
    kept.delete(hash);
    kept.set(hash, compiled);
    for (const oldest of kept.keys()) {
      if (kept.size <= schemasMax) break;
      kept.delete(oldest);
    }
    return compiled;
  };

  return {
    warmUp: () => dialects.forEach((dialect) => metaOf(dialect, metaAjv)),
    schemaProblem: (schema) => {
      const compiled = compiledOf(schema);
      return 'problem' in compiled ? compiled.problem : undefined;
    },
    validate: (schema, args) => {
      const compiled = compiledOf(schema);
      if ('problem' in compiled)
        return { isValid: false, message: `The tool's own schema is broken: ${compiled.problem}` };
      return validate(compiled, { ...args, schema, run });
    },
  };
}

type Validation = { value: unknown; charCount: number; schema: JsonSchema; run: BoundedRun };

function validate(
  compiled: Exclude<Compiled, { problem: string }>,
  { value, charCount, schema, run }: Validation,
): Verdict {
  try {
    const isShort = compiled.isTame && charCount <= shortCharsMax;
    const isValid = isShort ? compiled.first(value) : run(validateBudgetMs, () => compiled.first(value));
    if (isValid) return { isValid: true };
    const errors =
      (charCount <= allErrorsCharsMax && allErrors(compiled, schema, { value, run })) || compiled.first.errors;
    return { isValid: false, message: describeErrors(errors ?? [], value) };
  } catch (error) {
    return { isValid: false, message: uncheckable(error) };
  }
}

/** A second validator that doesn't stop at the first error is made only when a call failed. */
function allErrors(
  compiled: Exclude<Compiled, { problem: string }>,
  schema: JsonSchema,
  { value, run }: { value: unknown; run: BoundedRun },
): ErrorObject[] | undefined {
  try {
    compiled.all ??= run(compileBudgetMs, () => newAjv(compiled.dialect, { allErrors: true }).compile(schema));
    const { all } = compiled;
    run(validateBudgetMs, () => all(value));
    return all.errors ?? undefined;
  } catch {
    return undefined;
  }
}

function uncheckable(error: unknown): string {
  if (error instanceof TimeUsedUpError) return `The arguments could not be checked within ${validateBudgetMs} ms.`;
  if (error instanceof RangeError)
    return "The arguments could not be checked: the tool's schema refers to itself without end.";
  throw error;
}

type Compilation = { dialect: Dialect; isTame: boolean; run: BoundedRun; metaAjv: Map<Dialect, Ajv> };

function compile(schema: JsonSchema, { dialect, isTame, run, metaAjv }: Compilation): Compiled {
  try {
    const meta = metaOf(dialect, metaAjv);
    const isSchema = run(compileBudgetMs, () => meta.validateSchema(schema) as boolean);
    if (!isSchema) return { problem: `It is no valid ${dialect} schema: ${describeErrors(meta.errors ?? [], schema)}` };
    const first = run(compileBudgetMs, () => newAjv(dialect, {}).compile(schema));
    if ('$async' in first) return { problem: 'Asynchronous schemas are not supported.' };
    return { dialect, isTame, first };
  } catch (error) {
    if (error instanceof TimeUsedUpError)
      return { problem: `The schema could not be compiled within ${compileBudgetMs} ms.` };
    if (error instanceof RangeError) return { problem: 'The schema refers to itself without end.' };
    return { problem: error instanceof Error ? error.message.slice(0, 500) : 'The schema could not be compiled.' };
  }
}

/** Validates schemas themselves. The meta-schema is our own text, so that compiling it is not part of any budget. */
function metaOf(dialect: Dialect, metaAjv: Map<Dialect, Ajv>): Ajv {
  const known = metaAjv.get(dialect);
  if (known) return known;
  const meta = newAjv(dialect, {});
  void meta.validateSchema({});
  metaAjv.set(dialect, meta);
  return meta;
}

/** ajv-formats is a CommonJS module whose types name the plugin as its default. */
const addFormats = addFormatsModule as unknown as FormatsPlugin;

function newAjv(dialect: Dialect, options: Options): Ajv {
  const settled: Options = {
    strict: false,
    ownProperties: true,
    inlineRefs: false,
    validateSchema: false,
    multipleOfPrecision: 9,
    logger: false,
    code: { regExp: linearRegExp },
    ...options,
  };
  const ajv =
    dialect === '2020-12' ? new Ajv2020(settled) : dialect === '2019-09' ? new Ajv2019(settled) : new Ajv(settled);
  addFormats(ajv);
  return ajv;
}

/** Patterns in linear time. What RE2 can't do (look-around, back-references) makes the schema unusable, with a sentence. */
const linearRegExp = Object.assign(
  (pattern: string): { test(text: string): boolean } => {
    try {
      const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
      return { test: (text) => compiled.matcher(text).find() };
    } catch {
      throw new Error(
        `The pattern ${pattern.slice(0, 200)} can't be used: patterns have to work without look-around and back-references.`,
      );
    }
  },
  { code: 'linearRegExp' },
);
