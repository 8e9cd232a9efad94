import { defineConfig } from 'vitest/config';

/** Only for what hangs: whatever takes time is waited for by a condition, with a deadline that says what did not come. */
export const DEADLINES_MS = { testTimeout: 600_000, hookTimeout: 600_000, teardownTimeout: 60_000 };

/**
 * Integration tests (`*.itest.ts`): they need PostgreSQL, Kubernetes binaries or PyTorch, and `npm test -- --integration` starts what they share.
 * One process loads each module once and runs one file after the other; unit tests have vitest.unit.config.mjs.
 */
export default defineConfig({
  test: {
    globals: true,
    include: ['{libs,apps,dev,research,tools,migrations,e2e}/**/*.itest.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 1,
    fileParallelism: false,
    ...DEADLINES_MS,
    reporters: ['default', './tools/test/vitest-report.ts'],
  },
});
