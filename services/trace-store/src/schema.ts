/** The database schema that trace-store owns. */
export const schema = { schema: 'traces', folder: new URL('../migrations/', import.meta.url) };
