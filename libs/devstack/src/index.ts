/**
 * Everything that a laptop or a test needs to run Pawl without an installation: private servers, the four services, a front
 * door. Development and tests only; nothing here runs in production.
 */
export { ensureChromium, findChromium } from './browser/find-chromium.ts';
export { DevstackError } from './devstack-error.ts';
export { freePort, isPortFree } from './free-port.ts';
export { openFrontDoor, type FrontDoor } from './front-door/front-door.ts';
export { ensureNatsServer } from './nats/ensure-nats-server.ts';
export { startNats } from './nats/start-nats.ts';
export type { NatsOptions, NatsServer } from './nats/start-nats.ts';
export { startPostgres } from './postgres/start-postgres.ts';
export type { PostgresOptions, PostgresServer } from './postgres/start-postgres.ts';
export { ensurePrograms } from './process/debian-package.ts';
export { startChild } from './process/child.ts';
export type { Child, ChildExit, ChildOptions } from './process/child.ts';
export { services } from './services/service-list.ts';
