/** Postgres: connection, transactions, migrations. */
export { connectDatabase, type Database, type DatabaseOptions, type Queryable } from './database.ts';
export { migrate, waitForMigrations, type MigrateOptions } from './migrate.ts';
