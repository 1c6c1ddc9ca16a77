/** Brings the schema `traces` up to date and ends. Safe to repeat, safe to run several at once. */
import { migrate } from '@pawl/db';
import { createLog } from '@pawl/service';
import { loadMigrateConfig } from './config.ts';
import { migrations } from './schema.ts';

const config = loadMigrateConfig();
const log = createLog('trace-store', config.PAWL_LOG_LEVEL);
const applied = await migrate({ url: config.PAWL_DATABASE_URL, ...migrations });
log.info({ applied }, 'the schema is up to date');
