/**
 * One vitest run over all workspaces. Integration tests start real servers, hence the long limits for hooks, and no
 * machine is too slow for `expect.poll`.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      '{libs,services,examples}/*/**/*.test.ts',
      'scripts/**/*.test.ts',
      'deploy/chart/source/*.test.ts',
      'test/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/fixtures/**', 'test/bench/**'],
    globalSetup: ['libs/testkit/src/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});
