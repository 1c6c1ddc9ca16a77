/** Process entry of the job that makes streams, buckets and queues. Signals first: see `early-signals.ts`. */
import { endOnSignal } from '@pawl/service/early-signals';

endOnSignal();
await import('./tasks/setup.ts');
