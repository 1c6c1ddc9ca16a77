/** The four services: their names, their usual ports, and the paths that each answers behind one host. */
export const services = [
  { name: 'orchestrator', key: 'orchestrator', port: 7301, paths: ['/v1/runs', '/v1/agents'] },
  { name: 'tool-runner', key: 'toolRunner', port: 7302, paths: ['/v1/tools', '/v1/mcp-servers', '/v1/data-sources'] },
  {
    name: 'llm-gateway',
    key: 'llmGateway',
    port: 7303,
    paths: [
      '/v1/chat',
      '/v1/responses',
      '/v1/embeddings',
      '/v1/models',
      '/v1/routes',
      '/v1/budgets',
      '/v1/spend',
      '/v1/ledger',
      '/v1/keys',
    ],
  },
  { name: 'trace-store', key: 'traceStore', port: 7304, paths: ['/v1/traces'] },
] as const;

/** Addresses of the page, which trace-store serves; its files are under `/page`. */
export const pageAddresses = [
  '/',
  '/runs',
  '/runs/:runId',
  '/approvals',
  '/sessions',
  '/compare',
  '/budgets',
  '/health',
] as const;
