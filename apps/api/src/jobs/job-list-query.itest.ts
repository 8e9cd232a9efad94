import { randomUUID } from 'node:crypto';
import { Database, namesOfRoles, type Scope, TenantDatabase } from '@coxswain/persistence';
import type { SharedPostgres } from '@coxswain/test-harness';
import { migrate } from '../infrastructure/databases.ts';
import { migratedPostgres, rolesOf } from '../testing/test-database.ts';
import { SELECT_JOB_IN_SHORT } from './job-of-row.ts';
import { jobListQuery, type JobFilter, type JobPage } from './job-list-query.ts';
import { parseLabelSelector } from './label-selector.ts';

/*
 * A list of a project with 100,000 jobs touches about as many rows as it answers. A third of them is deleted; ten are Running, of the rare team, named after
 * a rare model; half carry a common label.
 */
const JOBS = 100_000;
const PAGE = 51;
const CLUSTER = randomUUID();
const PROJECT = randomUUID();
const OTHER = randomUUID();
/** As a member of one project: what a plan looks like depends on policies. */
const SCOPE: Scope = { clusterId: CLUSTER, principalId: randomUUID(), reach: { kind: 'projects', ids: [PROJECT] } };

let postgres: SharedPostgres;
/** Of a superuser, who fills the tables and looks at them for the planner. */
let everything: Database;
let tenants: TenantDatabase;

beforeAll(async () => {
  postgres = migratedPostgres();
  const adminUrl = await postgres.createDatabase('lists');
  const urls = await rolesOf(adminUrl);
  await migrate({ databaseUrls: urls }, { roles: await namesOfRoles(urls), onLocked: () => undefined });
  const options = { applicationName: 'lists test', statementTimeoutMs: 60_000 };
  everything = await Database.connect({ ...options, url: adminUrl });
  tenants = await TenantDatabase.connect({ ...options, url: urls.runtime });
  await everything.query("INSERT INTO clusters (id, name) VALUES ($1, 'here')", [CLUSTER]);
  await everything.query("INSERT INTO projects (id, cluster_id, name) VALUES ($1, $3, 'big'), ($2, $3, 'other')", [
    PROJECT,
    OTHER,
    CLUSTER,
  ]);
  // In pieces, none of which is long.
  for (let from = 1; from <= JOBS + 1_000; from += 10_000) await insertJobs(from, from + 9_999);
  await everything.query('ANALYZE');
});

afterAll(async () => {
  await Promise.all([everything?.close(), tenants?.close()]);
});

async function insertJobs(from: number, to: number): Promise<void> {
  await everything.query(
    `INSERT INTO jobs (id, cluster_id, project_id, namespace, name, spec, owner, labels, state, created_at, finished_at, deleted_at)
     SELECT gen_random_uuid(), $1, CASE WHEN n > $4 THEN $3::uuid ELSE $2::uuid END, 'big',
            CASE WHEN n % 10000 = 1 THEN 'rare-model-' ELSE 'tiny-gpt-' END || n, '{}',
            CASE WHEN n % 10000 = 1 THEN 'ada' ELSE 'ci' END,
            jsonb_build_object('team', CASE WHEN n % 10000 = 1 THEN 'rare' ELSE 'most' END)
              || CASE WHEN n % 2 = 0 THEN '{"even": "yes"}' ELSE '{}'::jsonb END,
            CASE WHEN n % 3 = 0 THEN 'Deleted' WHEN n % 10000 = 1 THEN 'Running' ELSE 'Complete' END,
            now() - make_interval(mins => n), CASE WHEN n % 10000 <> 1 THEN now() - make_interval(mins => n) END,
            CASE WHEN n % 3 = 0 THEN now() END
       FROM generate_series($5::integer, least($6::integer, $4 + 1000)) AS n`,
    [CLUSTER, PROJECT, OTHER, JOBS, from, to],
  );
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Every node of a plan that reads a table or an index. */
function scansOf(plan: Plan): readonly Plan[] {
  const own = plan['Node Type'].includes('Scan') && plan['Node Type'] !== 'Subquery Scan' ? [plan] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)];
}

const touched = (scan: Plan): number =>
  (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'];

const noFilter: JobFilter = { labels: [], words: [] };
const newest: JobPage = { orderBy: 'createdAt', isDescending: true, rows: PAGE };
const selected = (selector: string): JobFilter => ({ ...noFilter, labels: parseLabelSelector(selector) });
const halfway = new Date(Date.now() - (JOBS / 2) * 60_000).toISOString();

describe('a list of a project with 100,000 jobs reads few rows:', () => {
  it.each<
    [
      string,
      {
        readonly filter?: JobFilter;
        readonly page?: Partial<JobPage>;
        readonly rows?: number;
        readonly index?: string;
      },
    ]
  >([
    ['the newest', { index: 'jobs_by_creation' }],
    [
      'those after a page in the middle',
      { page: { after: { key: halfway, id: randomUUID() } }, index: 'jobs_by_creation' },
    ],
    ['the oldest', { page: { isDescending: false }, index: 'jobs_by_creation' }],
    ['by name', { page: { orderBy: 'name', isDescending: false }, index: 'jobs_by_name' }],
    [
      'by name from the end, after a page',
      { page: { orderBy: 'name', after: { key: 'tiny-gpt-5', id: randomUUID() } }, index: 'jobs_by_name' },
    ],
    ['those that ended last', { page: { orderBy: 'finishedAt' }, index: 'jobs_by_end' }],
    ['those in a rare state', { filter: { ...noFilter, state: 'Running' }, rows: 7, index: 'jobs_by_state' }],
    ['those in a common state', { filter: { ...noFilter, state: 'Complete' } }],
    ['deleted ones', { filter: { ...noFilter, state: 'Deleted' }, index: 'jobs_by_state' }],
    ['those of somebody who made few', { filter: { ...noFilter, owner: 'ada' }, rows: 7, index: 'jobs_by_owner' }],
    ['those with a rare label', { filter: selected('team=rare'), rows: 7, index: 'job_labels_of_project' }],
    [
      'those with one of several labels',
      { filter: selected('team in (rare,none)'), rows: 7, index: 'job_labels_of_project' },
    ],
    ['those with a common label', { filter: selected('even'), index: 'jobs_by_creation' }],
    ['those without a label', { filter: selected('!even'), index: 'jobs_by_creation' }],
    [
      'those with a rare and a common label',
      { filter: selected('even!=yes,team=rare'), rows: 7, index: 'job_labels_of_project' },
    ],
    [
      'those whose name begins with a rare word',
      { filter: { ...noFilter, words: ['rare'] }, rows: 7, index: 'job_name_words_of_project' },
    ],
    [
      'those whose name holds a rare word',
      { filter: { ...noFilter, words: ['model-'] }, rows: 7, index: 'job_name_words_of_project' },
    ],
    [
      'the one of a name',
      { filter: { ...noFilter, words: ['tiny-gpt-77777'] }, rows: 1, index: 'job_name_words_of_project' },
    ],
    [
      'those whose name holds common words',
      { filter: { ...noFilter, words: ['tiny', 'gpt'] }, index: 'jobs_by_creation' },
    ],
  ])('%s', async (_which, { filter = noFilter, page = {}, rows = PAGE, index }) => {
    const { text, parameters } = jobListQuery({ clusterId: CLUSTER, projectId: PROJECT }, filter, {
      ...newest,
      ...page,
    });
    const explain = `EXPLAIN (ANALYZE, FORMAT JSON) ${SELECT_JOB_IN_SHORT} ${text}`;
    const found = await tenants.within(SCOPE, (sql) =>
      sql.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(explain, parameters),
    );
    const plan = found.rows[0]?.['QUERY PLAN'][0]?.Plan;
    if (plan === undefined) throw new Error('no plan');
    const scans = scansOf(plan).filter((scan) => scan['Relation Name'] !== 'projects');
    const scanSummary = JSON.stringify(scans.map((scan) => [scan['Node Type'], scan['Index Name'], touched(scan)]));
    expect({ scanSummary: scanSummary, rows: plan['Actual Rows'] }).toEqual({ scanSummary: scanSummary, rows });
    if (index !== undefined) expect(scans.map((scan) => scan['Index Name'])).toContain(index);
    expect({
      scanSummary: scanSummary,
      isFew: scans.reduce((sum, scan) => sum + touched(scan), 0) <= 10 * PAGE,
    }).toEqual({
      scanSummary: scanSummary,
      isFew: true,
    });
  });
});
