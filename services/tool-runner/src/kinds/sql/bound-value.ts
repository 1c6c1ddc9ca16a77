/** The JSON text of an argument → what is bound to a parameter of a statement. Pure. */

/**
 * Numbers keep their digits, because they are bound as text and Postgres gives them the parameter's type. Lists become
 * Postgres arrays, objects become JSON text, and an argument that was not given is null.
 */
export function boundValue(json: string | undefined): unknown {
  if (json === undefined) return null;
  const value = JSON.parse(json) as unknown;
  if (typeof value === 'string' || value === null) return value;
  if (Array.isArray(value)) return exactItems(json);
  return json;
}

/** Items of a list, numbers as their own text. Lists within lists become arrays of more dimensions. */
function exactItems(json: string): unknown {
  return JSON.parse(json, (_key: string, value: unknown, context?: { source?: string }) => {
    if (typeof value === 'number') return context?.source ?? String(value);
    if (typeof value === 'boolean') return String(value);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? JSON.stringify(value) : value;
  });
}
