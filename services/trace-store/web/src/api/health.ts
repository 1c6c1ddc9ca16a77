/**
 * How the services are, as far as one host lets a page see: trace-store tells of its own checks, the others by whether
 * they answer a small request.
 */
import { ApiError, request } from './request.ts';

export type ServiceHealth = {
  name: 'orchestrator' | 'tool-runner' | 'llm-gateway' | 'trace-store';
  state: 'ready' | 'not_ready' | 'silent' | 'not_allowed';
  answeredInMs: number | undefined;
  checks: Record<string, boolean>;
};

const probes: Record<ServiceHealth['name'], string> = {
  orchestrator: '/v1/runs?limit=1',
  'tool-runner': '/v1/tools',
  'llm-gateway': '/v1/budgets',
  'trace-store': '/healthz/ready',
};

/** All four, asked at once. */
export function fetchHealth(): Promise<ServiceHealth[]> {
  return Promise.all((Object.keys(probes) as ServiceHealth['name'][]).map(probe));
}

async function probe(name: ServiceHealth['name']): Promise<ServiceHealth> {
  const startedAt = performance.now();
  const result = (state: ServiceHealth['state'], checks: Record<string, boolean> = {}): ServiceHealth => ({
    name,
    state,
    checks,
    answeredInMs: state === 'silent' ? undefined : performance.now() - startedAt,
  });
  try {
    const response = await request(probes[name]);
    const body = (await response.json()) as { checks?: Record<string, boolean> };
    return result('ready', name === 'trace-store' ? (body.checks ?? {}) : {});
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401 || error.status === 403) return result('not_allowed');
    return result(name === 'trace-store' && error.status === 503 ? 'not_ready' : 'silent');
  }
}
