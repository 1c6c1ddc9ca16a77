/**
 * The four services of Pawl: their folders, their usual ports, and the paths that each answers behind one host.
 */
import { services } from '@pawl/contracts';

export { services };

export type Service = (typeof services)[number];
export type ServiceKey = Service['key'];
export type ServiceUrls = Record<ServiceKey, string>;

/** Which service answers a path; the page and everything unknown belong to trace-store. */
export function serviceOfPath(path: string): Service {
  const isUnder = (prefix: string): boolean =>
    path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`);
  return services.find((service) => service.paths.some(isUnder)) ?? services[3];
}
