/** What tests stand on. Imported by tests only. */
export { eventually } from './eventually.ts';
export { startTestNats } from './nats.ts';
export { createTestDatabase, startTestPostgres } from './postgres.ts';
export { useTestServers, type TestServers } from './servers.ts';
