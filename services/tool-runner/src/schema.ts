/** The database schema that the tool-runner owns. */
export const schema = { schema: 'tools', folder: new URL('../migrations/', import.meta.url) };
