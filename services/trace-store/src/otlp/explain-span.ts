/** The body of a span for people who were not meant to read thoughts: as that of a fact, and without what went wrong in raw words. Pure. */
import { explain } from '../record/explain.ts';

type Body = Record<string, unknown>;

/** JSON text. */
export function explainSpan(body: string): string {
  const { span: _span, error, observation, ...rest } = JSON.parse(explain(body)) as Body;
  return JSON.stringify({
    ...rest,
    ...(isBody(error) ? { error: { code: error['code'] } } : {}),
    ...(isBody(observation) ? { observation: { ...observation, message: null } } : {}),
  });
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null;
}
