import { homedir } from 'node:os';
import { join } from 'node:path';

/** How SWC compiles a file; `tsx` where it may hold JSX. */
function compiled({ tsx }) {
  return {
    jsc: {
      target: 'es2023',
      keepClassNames: true,
      experimental: { keepImportAttributes: true },
      parser: { syntax: 'typescript', tsx, decorators: true },
      transform: {
        legacyDecorator: true,
        decoratorMetadata: true,
        useDefineForClassFields: false,
        react: { runtime: 'automatic' },
      },
    },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  };
}

/** Unit tests (`*.spec.ts`): they need nothing but Node. Integration tests run under Vitest (vitest.config.mjs). */
export default {
  rootDir: '.',
  roots: [
    '<rootDir>/libs',
    '<rootDir>/apps',
    '<rootDir>/dev',
    '<rootDir>/research',
    '<rootDir>/tools',
    '<rootDir>/migrations',
    '<rootDir>/e2e',
  ],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  modulePathIgnorePatterns: ['/dist/'],
  // The workspaces are symlinks in node_modules: transform them, and nothing else there.
  transformIgnorePatterns: ['/node_modules/(?!@coxswain/)'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', compiled({ tsx: false })],
    // Components of the page, which specs render without a browser.
    '^.+\\.tsx$': ['@swc/jest', compiled({ tsx: true })],
  },
  // Not the system's temporary folder, where another user of the machine could make it first.
  cacheDirectory: join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'coxswain', 'jest'),
  testMatch: ['**/*.spec.ts'],
  setupFiles: ['<rootDir>/tools/test/property-seed.ts'],
  // Only for what hangs: whatever takes time is waited for by a condition, with a deadline that says what did not come.
  testTimeout: 600_000,
  workerIdleMemoryLimit: '1GB',
};
