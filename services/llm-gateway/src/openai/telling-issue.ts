/** Which of the mistakes in a request to tell. Pure. */

/** A mistake as zod has it: `errors` are those of each branch of a union, `keys` what is not known. */
export type Issue = {
  path: readonly PropertyKey[];
  message: string;
  errors?: readonly (readonly Issue[])[];
  keys?: readonly string[];
};

/** The place and the words of a mistake: of a union that nothing fits those of the branch that goes furthest. */
export function tellingIssue({ path, message, errors = [], keys = [] }: Issue): {
  path: PropertyKey[];
  message: string;
} {
  const [key] = keys;
  if (key !== undefined) return { path: [...path, key], message: 'not known here' };
  const told = errors.flatMap(([first]) => (first ? [tellingIssue(first)] : []));
  const furthest = Math.max(0, ...told.map((issue) => issue.path.length));
  const found = furthest > 0 ? told.find((issue) => issue.path.length === furthest) : undefined;
  return found ? { path: [...path, ...found.path], message: found.message } : { path: [...path], message };
}
