/** Process entry of the search for leaks, `node services/trace-store/src/leak-scan.ts [app]`. Signals first: see `early-signals.ts`. */
import { endOnSignal } from '@pawl/service/early-signals';

endOnSignal();
await import('./tasks/leak-scan.ts');
