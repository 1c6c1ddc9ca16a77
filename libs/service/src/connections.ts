/** What the other parts of a service stand on. */
import type { Part } from './run-service.ts';

/** There first, gone last: connections are closed in this order. `start` is what has to be done over them before anything else. */
export function createConnections(
  connections: readonly { close(): void | Promise<void> }[],
  start: () => Promise<void> = async () => {},
): Part {
  return {
    name: 'connections',
    start,
    async stop() {
      for (const each of connections) await each.close();
    },
  };
}
