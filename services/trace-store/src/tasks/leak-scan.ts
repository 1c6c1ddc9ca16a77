/**
 * `node services/trace-store/src/leak-scan.ts [app]`: looks through all stored traces for secrets and for what apps want out.
 * Prints where, never what. Ends with 0 when there is nothing, with 1 when there is.
 */
import process from 'node:process';
import { loadDatabaseUrl } from '../config.ts';
import { scanForLeaks } from '../service.ts';

const count = await scanForLeaks(loadDatabaseUrl(), {
  app: process.argv[2],
  onLeak: ({ app, runId, table, key }) => process.stdout.write(`${app} ${runId} ${table} ${key}\n`),
});
process.stdout.write(`${count} leak(s)\n`);
process.exitCode = count === 0 ? 0 : 1;
