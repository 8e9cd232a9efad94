/**
 * The projects of nx and their targets, inferred from the tree: nx loads this file as a plugin (`plugins` in nx.json).
 *
 *  - `build`: each workspace with a build script.
 *  - `test`: each workspace with unit tests, and `tools`.
 *
 * Inputs and caching of both targets are in `targetDefaults` of nx.json. Plain JavaScript, because nx loads it without a compiler.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FIXTURES } from './fixtures.mjs';

const WORKSPACES = '{apps,libs,dev,research}/*/package.json';
/** The folders of TypeScript that are no workspaces. One file stands for them, because nx asks for files. */
const FOLDERS_BESIDE = ['tools', 'research/planner-tools', 'e2e', 'migrations'];
const FOLDERS_BESIDE_STAND_IN = 'vitest.unit.config.mjs';

/** @type {import('nx/src/project-graph/plugins').CreateNodesV2} */
export const createNodesV2 = [
  `{${WORKSPACES},${FOLDERS_BESIDE_STAND_IN}}`,
  (files, _options, { workspaceRoot }) =>
    files.map((file) => {
      const folders = file === FOLDERS_BESIDE_STAND_IN ? FOLDERS_BESIDE : [dirname(file)];
      const projects = folders.map((folder) => [folder, projectOf(workspaceRoot, folder)]);
      return [file, { projects: Object.fromEntries(projects) }];
    }),
];

/** The project of one folder below the root. */
export function projectOf(root, folder) {
  const build = buildScriptOf(root, folder);
  return {
    name: folder.split('/').at(-1),
    root: folder,
    namedInputs: { fixtures: (FIXTURES[folder] ?? []).map((path) => `{workspaceRoot}/${path}`) },
    targets: {
      ...(build !== undefined && { build: buildTarget(folder, build) }),
      ...(hasUnitTests(root, folder) && {
        test: { command: `node tools/bootstrap.mjs tools/test/main.ts --unit ${folder}/` },
      }),
    },
  };
}

/** Set-up builds as well, and stamps what it built (`tools/setup/builds.ts`). The stamp is not valid for what nx builds. */
function buildTarget(cwd, script) {
  return { command: `rm -f dist/.inputs-sha256 && ${script}`, options: { cwd } };
}

function buildScriptOf(root, folder) {
  if (FOLDERS_BESIDE.includes(folder)) return undefined;
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).scripts?.build;
}

function hasUnitTests(root, folder) {
  return globSync(`${folder}/**/*.spec.ts`, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }).length > 0;
}
