/**
 * The folders of each package that has several, top first: what stands in one imports from its own folder and from those below it. Files that
 * stand in `src` itself, such as `main.ts` and `index.ts`, wire the folders together and are above them all, unless a name in the list is a file.
 *
 * Tests and their helpers (`*.spec.ts`, `*.itest.ts`, `testing/`, `bench/`) may look from anywhere.
 */
export const FOLDER_ORDER = {
  'apps/api': [
    // what goes on by itself
    'outbox',
    'projection',
    'records',
    'series',
    'messages',
    // what is done before a start
    'installation',
    // what is asked for
    'health',
    'streams',
    'stacks',
    'sign-in',
    'webhooks',
    'projects',
    'renderings',
    'checkpoints',
    'jobs',
    'layouts',
    'plans',
    'audit',
    'curves',
    'fabric',
    // how it is asked
    'graphql',
    'http',
    'auth',
    'identity',
    // what all of it stands on
    'cluster',
    'infrastructure',
    'config',
  ],
  'apps/dashboard': ['pages', 'components', 'fabric', 'plans', 'job'],
  'apps/local-node': ['node', 'pod', 'container', 'settings', 'kube'],
  'apps/operator': ['installation', 'process', 'reports', 'training-job', 'cluster', 'config'],
  'libs/health': ['watch', 'hang', 'loss', 'slow', 'gang', 'stacks', 'verdict', 'trace', 'settings.ts'],
  // a pass; what is decided; what launchers are told; which epoch comes next; what is told of what went wrong; what went wrong; who gets GPUs; what is seen; what status records
  'libs/lifecycle': ['perform', 'decide', 'launchers', 'epoch', 'incident', 'failure', 'admission', 'look', 'record'],
  'libs/local-cluster': ['system', 'kwok', 'kubernetes', 'postgres', 'programs', 'process'],
  'libs/planner': [
    'questions',
    'answer',
    'search',
    'space',
    'request',
    'calibration',
    'time',
    'memory',
    'schedule',
    'presets',
    'contract.ts',
    'stages.ts',
    'facts.ts',
    'cluster-profile.ts',
  ],
  'libs/simulation': ['report', 'run', 'presets', 'cluster', 'kernel'],
  'libs/planner-calibration': ['cross-validate', 'fit', 'profile', 'score', 'rows'],
};

/** Zones of `import-x/no-restricted-paths` for one package: every folder is forbidden what stands above it. */
export function zonesOf(packageFolder, order) {
  return order.flatMap((folder, position) =>
    order.slice(0, position).map((above) => ({
      target: `./${packageFolder}/src/${folder}`,
      from: `./${packageFolder}/src/${above}`,
      message: `In ${packageFolder}, ${above} stands above ${folder} (tools/lint/folder-order.mjs): move what both need below them.`,
    })),
  );
}
