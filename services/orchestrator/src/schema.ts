/** The database schema that the orchestrator owns. */
export const schema = { schema: 'runs', folder: new URL('../migrations/', import.meta.url) };
