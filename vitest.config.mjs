import { defineConfig } from 'vitest/config';

/**
 * Integration tests (`*.itest.ts`): they need PostgreSQL, Kubernetes binaries or PyTorch, and `npm test -- --integration` starts what they share.
 * One process loads each module once and runs one file after the other; unit tests run under Jest (jest.config.mjs).
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
    // Only for what hangs: whatever takes time is waited for by a condition, with a deadline that says what did not come.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    reporters: ['default', './tools/test/vitest-report.ts'],
  },
});
