import { defineConfig } from 'vitest/config';
import { COMMON } from './vitest.config.mjs';

/**
 * Unit tests (`*.spec.ts`): they need nothing but Node. Two processes load each module once and run one file after the other, so a file that changes
 * its process (environment, clock, signal handlers) restores it. Integration tests have vitest.config.mjs.
 */
export default defineConfig({
  test: {
    ...COMMON,
    include: ['{libs,apps,dev,research,tools,migrations,e2e}/**/*.spec.ts'],
    // More would fight over two cores, and tests with deadlines would lose.
    maxWorkers: 2,
    setupFiles: ['./tools/test/property-seed.ts'],
  },
});
