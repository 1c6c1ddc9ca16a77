/** Applies the tool-runner's migrations. Run before the service starts; safe to repeat. Signals first: see `early-signals.ts`. */
import { endOnSignal } from '@pawl/service/early-signals';

endOnSignal();
const { runMigrations } = await import('@pawl/service');
const { schema } = await import('./schema.ts');

await runMigrations(schema);
