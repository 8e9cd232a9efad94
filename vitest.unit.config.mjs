import { defineConfig } from 'vitest/config';
import { DEADLINES_MS } from './vitest.config.mjs';

/**
 * Unit tests (`*.spec.ts`): they need nothing but Node. Two processes load each module once and run one file after the other, so a file that changes
 * its process (environment, clock, signal handlers) restores it. Integration tests have vitest.config.mjs.
 */
export default defineConfig({
  test: {
    globals: true,
    include: ['{libs,apps,dev,research,tools,migrations,e2e}/**/*.spec.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    isolate: false,
    // More would fight over two cores, and tests with deadlines would lose.
    maxWorkers: 2,
    setupFiles: ['./tools/test/property-seed.ts'],
    ...DEADLINES_MS,
    reporters: ['default', './tools/test/vitest-report.ts'],
  },
});
