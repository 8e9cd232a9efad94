import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';
import { FOLDER_ORDER, zonesOf } from './tools/lint/folder-order.mjs';

/** Libraries by layer. Core is pure; adapters do I/O and hold no rule; apps wire and are imported by nobody. */
export const CORE = [
  'units',
  'safe-text',
  'domain-error',
  'layout',
  'api-types',
  'fabric',
  'engines',
  'runtime',
  'checkpoint',
  'preflight',
  'health',
  'goodput',
  'scheduling',
  'lifecycle',
  'planner',
  'job-planning',
  'plan-report',
  'simulation',
];
export const ADAPTERS = [
  'api-client',
  'kube',
  'persistence',
  'telemetry',
  'planner-process',
  'checkpoint-store',
  'planner-calibration',
  'local-cluster',
  'test-harness',
];
const APPS = ['api', 'operator', 'launcher', 'local-node', 'dashboard', 'cli'];

const packages = (names) => names.flatMap((name) => [`@coxswain/${name}`, `@coxswain/${name}/*`]);
const APPS_ARE_PROGRAMS = { group: packages(APPS), message: 'An app is a program: move what you need into a library.' };
const INNER_FILES = {
  group: ['@coxswain/*/src/*', '**/libs/*/src/**', '**/apps/*/src/**', '**/dev/*/src/**', '**/research/*/src/**'],
  message: 'Import a library by its name, not its inner files.',
};

const tests = ['**/*.spec.ts', '**/*.itest.ts', '**/testing/**', '**/bench/**'];

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/*.generated.*', 'coverage/**', '.coxswain/**'] },
  {
    files: ['**/*.ts', '**/*.tsx', '**/*.mjs'],
    extends: [...tseslint.configs.recommended],
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts', '.tsx'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts', '.tsx'] },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      'import-x/no-self-import': 'error',
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportAllDeclaration', message: 'List what a module exports: `export *` hides its surface.' },
        {
          selector: "CallExpression[callee.object.name='vi'][callee.property.name=/^(mock|doMock)$/]",
          message: 'Inject the dependency instead of mocking a module.',
        },
        {
          selector:
            'CallExpression[callee.object.name=/^(it|test|describe)$/][callee.property.name=/^(skip|only|todo)$/]',
          message: 'A skipped test counts as green; fix or delete it.',
        },
      ],
      'no-restricted-imports': ['error', { patterns: [APPS_ARE_PROGRAMS, INNER_FILES] }],
      'max-params': ['error', 4],
      eqeqeq: 'error',
    },
  },
  {
    files: ['apps/**/*.ts', 'apps/**/*.tsx', 'libs/**/*.ts', 'dev/**/*.ts', 'research/planner-calibration/**/*.ts'],
    ignores: tests,
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    // Folders of a package have an order, so that a reader knows where a thing can be used from.
    files: Object.keys(FOLDER_ORDER).map((folder) => `${folder}/src/**/*.{ts,tsx}`),
    ignores: tests,
    rules: {
      'import-x/no-restricted-paths': [
        'error',
        {
          basePath: import.meta.dirname,
          zones: Object.entries(FOLDER_ORDER).flatMap(([folder, order]) => zonesOf(folder, order)),
        },
      ],
    },
  },
  {
    // Rules that only one program needs stand in a folder of it, and are held to the same.
    files: [...CORE.map((name) => `libs/${name}/src/**/*.ts`), 'apps/cli/src/job-import/**/*.ts'],
    // Saves of real libraries are files.
    ignores: ['**/*.spec.ts', '**/*.itest.ts', 'libs/checkpoint/src/testing/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            APPS_ARE_PROGRAMS,
            INNER_FILES,
            { group: packages(ADAPTERS), message: 'Core knows no adapter: take what you need as an argument.' },
            { group: ['node:*'], message: 'The core does no I/O.' },
            {
              group: [
                '@nestjs/*',
                'typeorm',
                'bullmq',
                'pg',
                '@kubernetes/*',
                'undici',
                'ws',
                'pino',
                'fastify',
                'yaml',
                'react',
                '@aws-sdk/*',
              ],
              message: 'The core depends on zod alone.',
            },
          ],
        },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Take `now: Date` as an argument.' },
        { object: 'Math', property: 'random', message: 'Take a seeded generator as an argument.' },
        { object: 'process', property: 'env', message: 'Only an app reads its environment.' },
      ],
      'no-restricted-globals': [
        'error',
        ...['process', 'setTimeout', 'setInterval', 'fetch', 'console'].map((name) => ({
          name,
          message: 'The core neither reads nor waits.',
        })),
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportAllDeclaration', message: 'List what a module exports.' },
        { selector: ':function[async=true]', message: 'The core does not wait.' },
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'Take `now: Date` as an argument.',
        },
      ],
    },
  },
  {
    files: ['libs/persistence/**/*.ts', 'apps/api/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportAllDeclaration', message: 'List what a module exports.' },
        {
          selector: "CallExpression[callee.property.name='save'][callee.object.name=/epositor|manager/i]",
          message: 'TypeORM’s save() of a stale entity wins silently: write a compare-and-set update.',
        },
      ],
    },
  },
  {
    // The chart's roles are compared with what the programs declare, and a page says who may ask the API what; nothing of an app runs there.
    files: [
      'tools/chart/**/*.ts',
      'tools/generate/access.ts',
      'tools/generate/metrics.ts',
      'tools/generate/python/print-openapi.ts',
    ],
    rules: { 'no-restricted-imports': 'off' },
  },
  {
    files: ['apps/dashboard/src/**/*.ts', 'apps/dashboard/src/**/*.tsx'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            APPS_ARE_PROGRAMS,
            INNER_FILES,
            {
              group: [...packages(ADAPTERS.filter((name) => name !== 'api-client')), 'node:*'],
              message: 'The dashboard runs in a browser.',
            },
          ],
        },
      ],
    },
  },
);
