/**
 * What builds and unit tests of a folder read outside of their own folder and of the projects they import: the inputs that nx cannot infer.
 * `fixtures.spec.ts` finds a path that is missing here.
 */
export const FIXTURES = {
  'apps/api': [
    'examples/layouts/**/*',
    'docs/reference/limits.md',
    'docs/reference/people.md',
    'docs/tasks/adopt-a-checkpoint.md',
  ],
  'apps/cli': ['examples/**/*', 'docs/tasks/import-a-job.md'],
  'apps/launcher': ['charts/coxswain/templates/observe.yaml'],
  'dev/local-node': ['examples/fabrics/**/*'],
  'apps/operator': ['examples/runtimes/**/*'],
  'dev/local-cluster': ['charts/coxswain/definitions/**/*', 'engines/**/*', 'examples/fabrics/**/*', 'tools/go/**/*'],
  'libs/planner': ['research/planner-calibration/data/**/*'],
  'research/planner-calibration': ['examples/calibration/**/*'],
  'libs/runtime': ['examples/runtimes/**/*'],
  // They check the tree as a whole: its packages, its pages, its rules of lint, what is generated.
  tools: ['**/*'],
};
