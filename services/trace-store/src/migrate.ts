/** Applies trace-store's migrations. Run before the service starts; safe to repeat. */
import { migrate } from '@pawl/db';
import { loadMigrateConfig } from './config.ts';
import { schema } from './schema.ts';

const applied = await migrate({ url: loadMigrateConfig().PAWL_DATABASE_URL, ...schema });
process.stdout.write(`schema ${schema.schema}: ${applied.length === 0 ? 'up to date' : applied.join(', ')}\n`);
