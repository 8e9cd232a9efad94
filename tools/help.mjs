/** `npm run help`: what the scripts of package.json do, in groups. Plain JavaScript, so that any Node shows it at once. */

/** Every script of package.json, with what it does. A test holds the two equal. */
export const SCRIPTS = {
  'Try it': {
    quickstart: 'set everything up, train a small model through the whole control plane, and show a restart',
  },
  'While you work': {
    check:
      'format, lint, types, unit tests of what changed: what to run before each commit; -- --all for every unit test',
    test: 'every test; -- --unit NAME for the unit tests of one place, -- --watch NAME to run them again on each change',
    generate: 'write again what is generated: custom resources, GraphQL schema, reference pages',
    'docs:commands': 'write the output of the commands that pages show',
    'docs:site': 'build the documentation as a site with search, into dist/docs-site; -- --serve; -- --help',
    'docs:picture': 'draw the picture of README.md from recorded answers of the API, after npm run build',
    format: 'format every file',
    lint: 'rules, import borders and format, without changing anything',
    typecheck: 'types of the whole tree',
    nx: 'build and test per project, with a cache: -- affected -t test, -- run-many -t build, -- graph',
  },
  'Set up': {
    setup: 'Kubernetes programs, Python with PyTorch, builds, browser; what is there already costs nothing',
    build: 'API, dashboard and launcher, where what they are built from has changed',
    images: 'container images without a container engine (root, Debian), with bills of materials; -- --help',
    release:
      'everything that a release publishes, in one folder to install from without internet; -- --out DIR, -- --help',
  },
  'Planner (docs/reference/planner-commands.md)': {
    'planner:score': 'how far predictions are from published measurements',
    'planner:against-published':
      'whether layouts that NVIDIA published are, as predicted, faster than the first answer',
    'planner:bench': 'how long the search takes, and whether it finds what trying every layout finds',
    'planner:gpu-counts': 'how long answers take for 200 numbers of GPUs between 1 and 65,536; -- --samples N',
    'planner:fit': 'fit the constants again to the published measurements',
    'planner:cases': 'what the planner answers in known situations, written to docs/reference/planner-cases.md',
    'planner:cross-validate': 'errors on measurements that the fit was not shown',
  },
  'Now and then': {
    'placement:bench':
      'how few bytes placements send over switches, beside a lower bound and beside how others place; -- --seeds N',
    'health:bench':
      'what the detectors of hangs and slow ranks find, miss and say wrongly on generated traces; -- --seeds N',
    'health:group-verdicts': 'how often the nodes of a group would be replaced wrongly; -- --seeds N',
    'health:clean-days': 'how often ranks of a clean job of 16,384 are accused; -- --days N --step-sec N',
    'simulate:validate': 'simulated weeks beside what was published of real ones, some minutes; -- --seeds N',
    'schedule:bench':
      'a month of jobs on 512 nodes under the scheduler and under rules of others, some minutes; -- --seed N, -- --help',
    'fabric-page:bench':
      'how fast the page of 10,000 nodes is drawn in a browser, after npm run build; -- --pictures FOLDER',
    'gang:bench': 'what the operator costs at scale: gangs of thousands of pods on a real control plane; -- --help',
    'api:bench':
      'how fast the API reads beside a bare program with the same transaction; -- series: curves; -- fan-out: streams; -- --help',
    'recovery:bench': 'seconds from a killed rank, or a lost node, to the next step on a local cluster',
    'reshard:bench': 'seconds to divide a checkpoint anew, beside cp and PyTorch (4 GiB)',
    'checkpoint:bench':
      'how long metadata of a million chunks takes to read, and how much memory, beside Python; -- --chunks N',
    campaign: 'long tests by name, such as kill-at-every-write',
    house: 'measure functions, files, documentation and tests, and list what is too long, unused or in a circle',
    help: 'this list',
  },
};

/** The list as text: a line per group, and a line per script below it. */
export function describeScripts() {
  const width = Math.max(
    ...Object.values(SCRIPTS)
      .flatMap(Object.keys)
      .map((name) => name.length),
  );
  const groups = Object.entries(SCRIPTS).map(([group, scripts]) => {
    const lines = Object.entries(scripts).map(([name, what]) => `  npm run ${name.padEnd(width)}  ${what}\n`);
    return `${group}\n${lines.join('')}`;
  });
  return groups.join('\n');
}

if (import.meta.filename === process.argv[1]) {
  process.stdout.write(describeScripts());
}
