/**
 * `node services/trace-store/src/leak-scan.ts [app]`: looks through all stored traces for secrets and for what apps want out.
 * Prints where, never what. Ends with 0 when there is nothing, with 1 when there is.
 */
import process from 'node:process';
import { connectDatabase } from '@pawl/db';
import { loadDatabaseUrl } from './config.ts';
import { findLeaks } from './retention/leak-scan.ts';
import { createPolicy } from './retention/policy.ts';

const database = connectDatabase({
  url: loadDatabaseUrl(),
  applicationName: 'pawl-leak-scan',
  poolMax: 1,
});
try {
  const policy = createPolicy({ database, keptDays: new Map() });
  await policy.refresh();
  let count = 0;
  for await (const leak of findLeaks(database, { policy, app: process.argv[2] })) {
    count += 1;
    process.stdout.write(`${leak.app} ${leak.runId} ${leak.table} ${leak.key}\n`);
  }
  process.stdout.write(`${count} leak(s)\n`);
  process.exitCode = count === 0 ? 0 : 1;
} finally {
  await database.close();
}
