/** What every service is made of: configuration, log, HTTP, health, keys, life cycle. */
export { actingUser, createAuthorizer, hasScope, type Authorizer, type Caller } from './authorize.ts';
export { createBodyGate, createCounter, type BodyGate, type Visit } from './body-gate.ts';
export {
  baseConfigShape,
  busOptionsOf,
  ConfigError,
  databaseOptionsOf,
  integerVariable,
  natsConfigShape,
  readConfig,
} from './config.ts';
export { createConnections } from './connections.ts';
export { registerGauges, registerQueueGauges } from './gauges.ts';
export { guard, guardAdmin, guardApp, isStillIn } from './guards.ts';
export { createHttp, type Http, type HttpOptions, type HttpServer } from './http.ts';
export { createLog, type Log } from './log.ts';
export { tokenVerifierOf } from './oidc/oidc-config.ts';
export type { TokenVerifier } from './oidc/token-verifier.ts';
export { sendProblem } from './problems.ts';
export { runMain, runMigrations, runTask, type Main } from './run-main.ts';
export { runService, startParts, stopParts, type Part, type ServiceOptions } from './run-service.ts';
export { serveRegistry, type RegistryRoutes } from './serve-registry.ts';
