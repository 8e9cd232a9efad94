import { defineConfig } from 'vitest/config';

/** What unit tests and integration tests have in common. */
export const COMMON = {
  globals: true,
  exclude: ['**/node_modules/**', '**/dist/**'],
  pool: 'forks',
  isolate: false,
  // Only for what hangs: whatever takes time is waited for by a condition, with a deadline that says what did not come.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  teardownTimeout: 60_000,
  // A sentence in a table is the name of its test: whole, as campaigns look for it.
  taskTitleValueFormatTruncate: 0,
  reporters: ['default', './tools/test/vitest-report.ts'],
};

/**
 * Integration tests (`*.itest.ts`): they need PostgreSQL, Kubernetes binaries or PyTorch, and `npm test -- --integration` starts what they share.
 * One process loads each module once and runs one file after the other; unit tests have vitest.unit.config.mjs.
 */
export default defineConfig({
  test: {
    ...COMMON,
    include: ['{libs,apps,dev,research,tools,migrations,e2e}/**/*.itest.ts'],
    maxWorkers: 1,
    fileParallelism: false,
  },
});
