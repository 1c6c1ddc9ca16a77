/** From a tool's declaration and a call's arguments to one HTTP request. Pure. */
import { type Arguments, objectText } from '@pawl/calls';
import type { Tool } from '@pawl/contracts';

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: URL;
  body: string | undefined;
};

const placeholder = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

/** Names of the arguments that a URL template takes. */
export function placeholdersOf(template: string): string[] {
  return [...new Set([...template.matchAll(placeholder)].map((match) => match[1] ?? ''))];
}

/**
 * Fills the URL; what the URL doesn't take goes to the query (GET, DELETE) or to a JSON body, digit for digit.
 * Gives a sentence when an argument that the URL needs is missing or would change the URL's path.
 */
export function buildRequest(tool: Tool, args: Arguments): { request: HttpRequest } | { problem: string } {
  const { http } = tool.spec;
  if (!http) throw new TypeError('not a tool of kind http');
  const names = placeholdersOf(http.url);
  for (const name of names) {
    const text = argumentText(args.members.get(name));
    if (text === undefined || text === '')
      return { problem: `/${name}: expected a value, which the tool's address needs; got nothing.` };
    // Percent-encoding leaves dots alone, and `..` as a whole segment would climb the path.
    if (/^\.{1,2}$/.test(text)) return { problem: `/${name}: expected a value other than "${text}".` };
  }
  const filled = http.url.replaceAll(placeholder, (_all, name: string) =>
    encodeURIComponent(argumentText(args.members.get(name)) ?? ''),
  );
  const url = URL.parse(filled);
  if (!url) return { problem: "The tool's address is not a URL." };
  const rest = [...args.members].filter(([name]) => !names.includes(name));
  if (http.method === 'GET' || http.method === 'DELETE') {
    for (const [name, value] of rest) appendQuery(url, name, value);
    return { request: { method: http.method, url, body: undefined } };
  }
  return { request: { method: http.method, url, body: objectText(rest) } };
}

/** A list becomes the parameter several times, null is left out, an object is its JSON text. */
function appendQuery(url: URL, name: string, json: string): void {
  const value = JSON.parse(json) as unknown;
  if (value === null) return;
  if (!Array.isArray(value)) {
    url.searchParams.append(name, argumentText(json) ?? '');
    return;
  }
  for (const item of exactItemTexts(json)) url.searchParams.append(name, item);
}

function exactItemTexts(json: string): string[] {
  const items = JSON.parse(json, (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value,
  ) as unknown[];
  return items.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

/** Text as it is, anything else as its JSON text; undefined for null and for what was not given. */
function argumentText(json: string | undefined): string | undefined {
  if (json === undefined || json === 'null') return undefined;
  return json.startsWith('"') ? (JSON.parse(json) as string).toWellFormed() : json;
}
