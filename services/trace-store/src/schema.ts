/** Where the SQL of trace-store's schema is. */
export const migrations = { schema: 'traces', folder: new URL('../migrations/', import.meta.url) } as const;
