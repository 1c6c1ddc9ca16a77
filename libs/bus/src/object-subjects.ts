/** Where the entries and the bytes of an object store lie, for what its client has no words for. */

export type ObjectSubjects = { entry(name: string): string; entries: string; chunks(id: string): string };

export function objectSubjects(bucket: string): ObjectSubjects {
  return {
    entry: (name) => `$O.${bucket}.M.${padded(Buffer.from(name).toString('base64url'))}`,
    entries: `$O.${bucket}.M.>`,
    chunks: (id) => `$O.${bucket}.C.${id}`,
  };
}

/** Base64url as object stores have it. */
export function padded(base64url: string): string {
  return base64url.padEnd(Math.ceil(base64url.length / 4) * 4, '=');
}
