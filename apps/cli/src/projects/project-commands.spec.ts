import { type Routes, runCommand } from '../testing/run-command.ts';

const RESEARCH = {
  name: 'research',
  namespaces: ['research', 'research-batch'],
  createdAt: '2026-01-01T00:00:00.000Z',
};
const TEAM = { name: 'team-b', namespaces: ['team-b'], createdAt: '2026-01-09T12:00:00.000Z' };

const LIMITS = [
  { name: 'requestBurst', most: 1000, used: 3, perSecond: 200, counted: 'inReplica' },
  { name: 'jobs', most: 1000, used: 12, perSecond: null, counted: 'inProject' },
  { name: 'layouts', most: null, used: 7, perSecond: null, counted: 'inProject' },
];

async function run(argv: string, routes: Routes = {}) {
  const { requests, ...result } = await runCommand(`project ${argv}`, {
    'GET /v1/projects': { json: { items: [RESEARCH, TEAM] } },
    'GET /v1/projects/research': { json: RESEARCH },
    'GET /v1/projects/team-b': { json: TEAM },
    ...routes,
  });
  return { ...result, asked: requests.findLast(({ method }) => method !== 'GET') };
}

describe('coxswain project', () => {
  it('list shows what each owns and how old it is', async () => {
    const { out } = await run('list');
    expect(out.split('\n')).toEqual([
      'NAME      NAMESPACES                AGE',
      'research  research, research-batch  9 d 0 h',
      'team-b    team-b                    12 h 0 min',
    ]);
  });

  it('list says how the first one is made', async () => {
    const { out } = await run('list', { 'GET /v1/projects': { json: { items: [] } } });
    expect(out).toMatch(/`coxswain project create NAME` makes one/);
  });

  it.each([
    ['of its own name', 'create team-b', ['team-b']],
    ['that were named', 'create team-b --namespace b-train b-batch', ['b-train', 'b-batch']],
    ['named one by one', 'create team-b -n b-train -n b-batch', ['b-train', 'b-batch']],
  ])('create makes a project with the namespaces %s, and says what comes next', async (_sentence, argv, namespaces) => {
    const made = { json: { ...TEAM, namespaces }, status: 201 };
    const { code, out, asked } = await run(argv, { 'POST /v1/projects': made });
    expect([code, asked?.body]).toEqual([0, { name: 'team-b', namespaces }]);
    expect(out).toMatch(/^Made project team-b, which owns namespaces? (team-b|b-train, b-batch)\.$/m);
    expect(out).toMatch(/coxswain token create NAME --role admin --project team-b$/);
  });

  it.each([
    ['those that are named', 'high urgent', ['high', 'urgent'], 'Jobs of project team-b may name high, urgent.'],
    ['none', '--none', [], 'Jobs of project team-b may name none.'],
    ['more', 'low --add', ['high', 'low'], 'Jobs of project team-b may name high, low.'],
    ['nothing without classes, and shows them', '', undefined, 'Jobs of project team-b may name high.'],
  ])('priority-classes sets %s', async (_sentence, argv, priorityClasses, want) => {
    const changed = { json: { ...TEAM, priorityClasses } };
    const before = { json: { ...TEAM, priorityClasses: ['high'] } };
    const { out, asked } = await run(`priority-classes team-b ${argv}`.trim(), {
      'GET /v1/projects/team-b': before,
      'PATCH /v1/projects/team-b': changed,
    });
    expect([out, asked?.body]).toEqual([want, priorityClasses && { priorityClasses }]);
  });

  it('show lists the priority classes of a project that has some', async () => {
    const shown = { json: { ...TEAM, priorityClasses: ['high'] } };
    expect((await run('show team-b', { 'GET /v1/projects/team-b': shown })).out).toMatch(/^Priority classes: +high$/m);
  });

  it('create that is refused gives the sentence of the API', async () => {
    const problem = { status: 409, code: 'NAME_TAKEN', detail: 'a project named "team-b" exists already' };
    const { code, err } = await run('create team-b', { 'POST /v1/projects': { problem } });
    expect([code, err]).toEqual([1, expect.stringContaining(problem.detail)]);
  });

  it.each([
    ['the one that is named', 'show team-b', /^Name: +team-b\nNamespaces: +team-b\nCreated: +12 h 0 min ago$/],
    ['that of the token', 'show', /^Name: +research\n/],
    ['that of --project', 'show --project team-b', /^Name: +team-b\n/],
  ])('show tells %s', async (_sentence, argv, want) => {
    expect((await run(argv)).out).toMatch(want);
  });

  it.each([
    ['the one that is named', 'limits team-b'],
    ['that of --project', 'limits --project team-b'],
  ])('limits shows of %s what may be used and what is', async (_sentence, argv) => {
    const { out } = await run(argv, { 'GET /v1/projects/team-b/limits': { json: { items: LIMITS } } });
    expect(out.split('\n')).toEqual([
      'LIMIT         USED  MOST      OF',
      'requestBurst  3     1000      requests at once; 200 a second come back (in the replica that answered)',
      'jobs          12    1000      jobs that have not ended',
      'layouts       7     no limit  saved layouts',
    ]);
  });

  it('namespaces gives one a line, for programs as a list', async () => {
    expect((await run('namespaces')).out).toBe('research\nresearch-batch');
    expect(JSON.parse((await run('namespaces research -o json')).out)).toEqual(RESEARCH.namespaces);
  });

  it('show without a name, by a token of every project, asks for one', async () => {
    const everywhere = { json: { name: 'root', role: 'clusterAdmin', project: null } };
    const { code, err } = await run('show', { 'GET /v1/whoami': everywhere });
    expect([code, err]).toEqual([1, expect.stringMatching(/name one with --project/)]);
  });
});
