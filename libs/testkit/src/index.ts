/** What tests stand on. Imported by tests only. */
export { startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts';
export { startBreakableNats, type BreakableNats } from './breakable-nats.ts';
export { eventually } from './eventually.ts';
export { hasTimeForPeers, installPeers } from './peers.ts';
export { startTestNats } from './nats.ts';
export { createTestDatabase, startTestPostgres } from './postgres.ts';
export { useTestServers, type TestServers } from './servers.ts';
