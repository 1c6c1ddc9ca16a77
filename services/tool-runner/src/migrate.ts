/** Applies the tool-runner's migrations. Run before the service starts; safe to repeat. */
import { runMigrations } from '@pawl/service';
import { schema } from './schema.ts';

await runMigrations(schema);
