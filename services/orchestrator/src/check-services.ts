/** Process entry of the check of an installation. Signals first: see `early-signals.ts`. */
import { endOnSignal } from '@pawl/service/early-signals';

endOnSignal();
await import('./tasks/check-services.ts');
