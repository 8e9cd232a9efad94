/**
 * The folders of each package that has several, top first: what stands in one imports from its own folder and from those below it. Files that
 * stand in `src` itself, such as `main.ts` and `index.ts`, wire the folders together and are above them all, unless a name in the list is a file.
 *
 * A package with more than one folder must list all of them; `node tools/house/measure.ts --check` fails for a folder that is not listed.
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
    'audit-push',
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
    // jobs of other controllers
    'observed',
    'queue',
    'goodput',
    'incidents',
    'checkpoints',
    // archives of code
    'code',
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
    'limits',
    'identity',
    // what all of it stands on
    'cluster',
    'infrastructure',
    'config',
  ],
  'apps/cli': [
    // groups of commands
    'init',
    'import',
    'jobs',
    'engines',
    'place',
    'plan',
    'calibrate',
    'layouts',
    'fabric',
    'health',
    'doctor',
    'checkpoints',
    'simulate',
    'projects',
    'sign-in',
    'completion',
    // what groups share
    'verdicts',
    // a working directory as an archive
    'workdir',
    'job-files',
    'job-import',
    'session',
    'output',
    'files',
    'options',
    'cli-error.ts',
  ],
  'apps/dashboard': ['pages', 'components', 'checkpoints', 'fabric', 'plans', 'new-job', 'job', 'jobs', 'queue'],
  'apps/launcher': [
    // beside a program that another controller started
    'observe',
    // the life of one pod
    'pod',
    // the files that a job runs
    'code',
    'preflight',
    'kept-logs',
    'engine-saves',
    // what the operator asks of ranks, and what it is sent
    'requests',
    'reports',
    // saves on their way to a bucket and from it
    'bucket',
    'checkpoints',
    // the ranks of one incarnation
    'gang',
    // processes that wait to be ranks of the next one, and saves for them in the memory of the pod
    'successors',
    'memory-saves',
    'engine',
    'hook',
    'facts',
    'step-lines',
    // how a launcher ends
    'ending',
    'logs',
    'processes',
    'program',
  ],
  'dev/local-node': ['node', 'pod', 'container', 'settings', 'kube'],
  'apps/operator': [
    'installation',
    'process',
    'launchers',
    'conversion',
    'retention',
    'verification',
    'ingest',
    'kept-logs',
    // what pods of all have in common
    'worker-pods',
    'fabric',
    'quarantine',
    // follows the queues of others
    'kueue',
    // what others ask to drain
    'drains',
    'training-job',
    'cluster',
    'config',
  ],
  'libs/checkpoint': [
    // which saves stay
    'retention',
    // who loads a save
    'loads',
    // what a user adopted
    'adoption',
    // in what two saves differ
    'compare',
    // how weights become those of another format, and what models call them
    'convert',
    // how a save becomes one of another layout
    'reshard',
    // looks at whole saves
    'verify',
    // what each format is
    'formats',
    // what all formats share
    'read',
  ],
  'libs/checkpoint-store': [
    'pruning',
    'copying',
    'converting',
    'resharding',
    'reading',
    's3',
    'directory',
    'checkpoint-store.ts',
    'store-location.ts',
    'store-error.ts',
  ],
  'libs/engines': ['options', 'adapters', 'megatron'],
  'libs/fabric': ['place', 'bound', 'arrange', 'units', 'capacity', 'traffic', 'snapshots', 'nodes'],
  'libs/health': [
    'watch',
    'hang',
    'loss',
    'slow',
    'crash',
    'standing',
    'gang',
    'stacks',
    'verdict',
    'trace',
    'settings.ts',
  ],
  // reconciling; decisions; orders to launchers; which saves stay; verification of checkpoints; the next attempt; reasons to save or move; incidents; judging failures; quarantine of nodes; what is observed; who may end; notices on Nodes; what a status records
  'libs/lifecycle': [
    'perform',
    'decide',
    'launchers',
    'retention',
    'verification',
    'epoch',
    'conversion',
    'disruption',
    'incident',
    'failure',
    'quarantine',
    'observation',
    'arbiter',
    'notices',
    'record',
  ],
  // when waiting jobs start; which running jobs make room; nodes that are held for the first in line; nodes in windows; order of waiting jobs; predicted ends; free capacity and refusals; reservations;
  // what the scheduler reads of the cluster; what a gang asks for
  'libs/scheduling': [
    'forecast',
    'claims',
    // whether another number of GPUs pays
    'sizes',
    'promises',
    'windows',
    // what Kueue admits
    'kueue',
    'order',
    'times',
    'capacity',
    'reservations',
    'scheduler-view.ts',
    'gang-request.ts',
  ],
  'dev/local-cluster': ['system', 'kwok', 'kubernetes', 'postgres', 'programs', 'process'],
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
  'libs/simulation': ['queue', 'report', 'standbys', 'run', 'presets', 'cluster', 'kernel'],
  'research/planner-calibration': ['cross-validate', 'fit', 'profile', 'score', 'rows'],
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
