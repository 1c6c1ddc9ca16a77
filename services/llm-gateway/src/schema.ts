/** The database schema that the gateway owns. */
export const schema = { schema: 'gateway', folder: new URL('../migrations/', import.meta.url) };
