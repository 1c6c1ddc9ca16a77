/** Process entry of the job that declares objects. Signals first: see `early-signals.ts`. */
import { endOnSignal } from '@pawl/service/early-signals';

endOnSignal();
await import('./tasks/apply-objects.ts');
