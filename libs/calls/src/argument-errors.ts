/** Turns a validator's errors into sentences that a model can act on: where, what was expected, what was there. Pure. */
import type { ErrorObject } from 'ajv';

const sentencesMax = 5;
const shownCharsMax = 60;

/** Up to five sentences joined to one text. */
export function describeErrors(errors: readonly ErrorObject[], value: unknown): string {
  const telling = errors.filter((error) => error.keyword !== 'if' && !isParentOf(error, errors));
  const sentences = [...new Set((telling.length > 0 ? telling : errors).map((error) => describe(error, value)))];
  const rest = sentences.length - sentencesMax;
  return [...sentences.slice(0, sentencesMax), ...(rest > 0 ? [`${rest} more problems.`] : [])].join(' ');
}

/** `anyOf` and `oneOf` only repeat what their branches say, unless a `oneOf` matched more than once. */
function isParentOf(error: ErrorObject, errors: readonly ErrorObject[]): boolean {
  if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') return false;
  const isAmbiguous = error.keyword === 'oneOf' && Array.isArray(error.params['passingSchemas']);
  return !isAmbiguous && errors.some((other) => other !== error && other.schemaPath.startsWith(`${error.schemaPath}/`));
}

function describe(error: ErrorObject, value: unknown): string {
  const at = error.instancePath === '' ? '/' : error.instancePath;
  const found = valueAt(value, error.instancePath);
  return `${at}: expected ${expectation(error)}; got ${show(found)}.`;
}

function expectation({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `type ${[params['type']].flat().join(' or ')}`;
    case 'required':
    case 'dependentRequired':
    case 'dependencies':
      return `the property "${String(params['missingProperty'])}", which is missing`;
    case 'additionalProperties':
      return `no property "${clip(String(params['additionalProperty']))}", which the tool doesn't know`;
    case 'unevaluatedProperties':
      return `no property "${clip(String(params['unevaluatedProperty']))}", which the tool doesn't know`;
    case 'enum':
      return `one of ${clip(JSON.stringify(params['allowedValues']), 300)}`;
    case 'const':
      return clip(JSON.stringify(params['allowedValue']));
    case 'format':
      return `a text in the format ${String(params['format'])}`;
    case 'pattern':
      return `a text that matches ${clip(String(params['pattern']), 200)}`;
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `a number ${String(params['comparison'])} ${String(params['limit'])}`;
    default:
      return (message ?? keyword).replace(/^must (be |have |NOT )?/, (_all, verb: string | undefined) =>
        verb === 'NOT ' ? 'not to ' : verb === 'have ' ? 'to have ' : '',
      );
  }
}

function valueAt(value: unknown, pointer: string): unknown {
  let current = value;
  for (const part of pointer.split('/').slice(1)) {
    if (typeof current !== 'object' || current === null) return undefined;
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

function show(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) {
    return `an object with ${clip(JSON.stringify(Object.keys(value).slice(0, 10)), 120)}`;
  }
  return value === undefined ? 'nothing' : clip(JSON.stringify(value));
}

function clip(text: string, charsMax = shownCharsMax): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`;
}
