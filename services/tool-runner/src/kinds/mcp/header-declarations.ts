/**
 * Arguments that a tool wants to have as HTTP headers, too (`x-mcp-header`, MCP revision 2026-07-28). A definition that declares
 * them wrongly must not be used over HTTP. Pure.
 */

const keyword = 'x-mcp-header';
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const allowedTypes = new Set<unknown>(['string', 'integer', 'boolean']);
/** Keywords that hold values, not schemas. */
const valueKeywords = new Set(['const', 'enum', 'default', 'examples', keyword]);
const depthMax = 64;

/** A sentence on what is wrong with a schema's header declarations, or undefined. */
export function headerProblem(inputSchema: unknown): string | undefined {
  const names = new Set<string>();
  const visit = (node: unknown, isReachable: boolean, depth: number): string | undefined => {
    if (typeof node !== 'object' || node === null || depth > depthMax) return undefined;
    const problem =
      keyword in node ? declarationProblem(node, { isReachable: isReachable && depth > 0, names }) : undefined;
    if (problem !== undefined) return problem;
    for (const [key, child] of Object.entries(node)) {
      if (valueKeywords.has(key)) continue;
      const isProperties = key === 'properties' && typeof child === 'object' && child !== null;
      const children = isProperties ? Object.values(child as object) : [child];
      for (const each of children) {
        const found = visit(each, isReachable && isProperties, depth + 1);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  };
  return visit(inputSchema, true, 0);
}

type Place = { isReachable: boolean; names: Set<string> };

function declarationProblem(schema: object, { isReachable, names }: Place): string | undefined {
  const name = (schema as Record<string, unknown>)[keyword];
  if (!isReachable) return `${keyword} is only allowed on properties that always exist`;
  if (typeof name !== 'string' || !token.test(name)) return `${keyword} has to be the name of a header`;
  if (!('type' in schema) || !allowedTypes.has(schema.type))
    return `${keyword} needs the type string, integer or boolean`;
  if (names.has(name.toLowerCase())) return `${keyword} ${name} is declared twice`;
  names.add(name.toLowerCase());
  return undefined;
}
