/** The words that the services share: facts, work, declared objects, errors, subjects. Zod only, no I/O. */
export * from './agent.ts';
export * from './budget.ts';
export * from './errors.ts';
export * from './facts.ts';
export * from './fingerprint.ts';
export * from './http-api.ts';
export * from './model-route.ts';
export * from './money.ts';
export * from './names.ts';
export * from './observation.ts';
export * from './registry-object.ts';
export * from './stop-reasons.ts';
export * from './subjects.ts';
export * from './tool.ts';
export * from './usage.ts';
export * from './work.ts';
