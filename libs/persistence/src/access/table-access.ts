/*
 * Rights of roles to the rows of each table. Every table has a line in TABLE_ACCESS. The migrations apply it to the database (`apply-access.ts`), and
 * a test compares both. The conditions ask the scope of the transaction (`tenant-database.ts`), through functions that a migration made: inside
 * `(SELECT …)` they are called once for a statement and not once for each row.
 */

/** What requests may do with the rows that they see: everything, read, add or change but never remove, or add to rows that requests read and cannot change. */
export type RequestRights = 'write' | 'read' | 'upsert' | 'log' | 'none';

/** How one table is kept apart. */
export interface TableAccess {
  readonly requests: RequestRights;
  /** Which rows a request sees and writes; absent: none, and only the system role has any right to the table. */
  readonly rows?: string;
  /** Which of them it may write, where that is less. */
  readonly writes?: string;
  /** Where it is not a cluster and a project that decide, the reason. */
  readonly reason?: string;
}

const OF_CLUSTER = 'cluster_id = (SELECT scope_cluster())';
const ANY_PROJECT = '(SELECT scope_is_whole_cluster())';
const THE_PROJECTS = '((SELECT scope_projects())::uuid[])';

/** Of the whole cluster or of nobody. */
const OF_ADMINISTRATORS = `${OF_CLUSTER} AND ${ANY_PROJECT}`;
const WHOLE_FABRIC = 'every node of the cluster, for its administrators';

/** Tables with `cluster_id` and a column that names the project. */
const byProject = (column = 'project_id'): string =>
  `${OF_CLUSTER} AND (${ANY_PROJECT} OR ${column} = ANY ${THE_PROJECTS})`;

/** Tables with `project_id` alone: a project is of one cluster, and `projects` has a policy of its own. A member's projects are found by their key. */
const BY_PROJECT_ID = `project_id = ANY (CASE WHEN ${ANY_PROJECT} THEN ARRAY(SELECT p.id FROM projects p)
  ELSE ARRAY(SELECT p.id FROM projects p WHERE p.id = ANY ${THE_PROJECTS}) END)`;

/** Mirrors with `cluster_id` and `namespace`: whose they are is whose the namespace is. */
const BY_NAMESPACE = `${OF_CLUSTER} AND (${ANY_PROJECT} OR namespace = ANY (ARRAY(
  SELECT n.namespace FROM project_namespaces n WHERE n.project_id = ANY ${THE_PROJECTS})))`;

/**
 * Children of a job: who sees the job sees them. One look into an index for each row, 3 to 4 µs. Not `EXISTS`: that may be answered by reading every job that is seen
 * first, however few rows are asked for.
 */
const byJobId = (table: string): string => `job_id = (SELECT j.id FROM jobs j WHERE j.id = ${table}.job_id)`;
/**
 * If a transaction set the job that it reads (`ofJob`), the job is looked up once per statement and not per row. Null without one, or for a job that is not
 * visible: `jobs` has a policy of its own.
 */
const THE_JOB = `(SELECT j.uid FROM jobs j WHERE j.cluster_id = (SELECT scope_cluster()) AND j.uid = current_setting('coxswain.job_uid', true))`;
const byJobUid = (table: string): string =>
  `${OF_CLUSTER} AND CASE WHEN ${ANY_PROJECT} OR job_uid = ${THE_JOB} THEN true
    ELSE job_uid = (SELECT j.uid FROM jobs j WHERE j.cluster_id = ${table}.cluster_id AND j.uid = ${table}.job_uid) END`;

/** What requests may do with each table, and the row-level security policy that limits them. Every table has an entry. */
export const TABLE_ACCESS: Readonly<Record<string, TableAccess>> = {
  api_tokens: { requests: 'write', rows: BY_PROJECT_ID },
  attempts: { requests: 'read', rows: byJobUid('attempts') },
  audit: {
    requests: 'log',
    rows: `(${byProject()}) OR (cluster_id IS NULL AND ${ANY_PROJECT})`,
    writes: `principal = (SELECT scope_principal()) AND ${byProject()}`,
    reason:
      'each principal writes entries in its own name; entries without a cluster are about administrators of all clusters',
  },
  audit_outbox: { requests: 'none', reason: 'a trigger of the audit writes it, and the sender reads it' },
  audit_receivers: { requests: 'none', reason: 'read and written by the sender' },
  checkpoint_geometries: { requests: 'read', rows: BY_NAMESPACE },
  checkpoint_verifications: { requests: 'read', rows: BY_NAMESPACE },
  checkpoints: { requests: 'read', rows: BY_NAMESPACE },
  clusters: { requests: 'none', reason: 'read at the start of a process' },
  code_archives: { requests: 'write', rows: byProject() },
  fabric_chunks: { requests: 'read', rows: OF_ADMINISTRATORS, reason: WHOLE_FABRIC },
  fabric_snapshots: { requests: 'read', rows: OF_ADMINISTRATORS, reason: WHOLE_FABRIC },
  group_roles: { requests: 'write', rows: byProject() },
  idempotency_keys: {
    requests: 'write',
    rows: `${OF_CLUSTER} AND principal = (SELECT scope_principal())`,
    reason: 'a key belongs to the principal that sent it, in all of its projects of the cluster',
  },
  incidents: { requests: 'read', rows: `${OF_CLUSTER} AND ${byJobId('incidents')}` },
  job_events: { requests: 'read', rows: byJobId('job_events') },
  job_labels: { requests: 'write', rows: byProject() },
  job_name_words: { requests: 'write', rows: byProject() },
  job_series: { requests: 'read', rows: byJobUid('job_series') },
  jobs: { requests: 'write', rows: byProject() },
  layouts: { requests: 'write', rows: BY_PROJECT_ID },
  measured_step_times: { requests: 'read', rows: byJobUid('measured_step_times') },
  nodes: { requests: 'read', rows: OF_CLUSTER, reason: 'projects share the nodes of their cluster' },
  outbox: { requests: 'upsert', rows: byJobId('outbox') },
  placements: { requests: 'read', rows: BY_NAMESPACE },
  plans: { requests: 'write', rows: BY_PROJECT_ID },
  principals: { requests: 'write', rows: `id = (SELECT scope_principal()) OR ${BY_PROJECT_ID}` },
  project_namespaces: { requests: 'write', rows: byProject() },
  projects: { requests: 'write', rows: byProject('id') },
  rank_steps: { requests: 'read', rows: byJobUid('rank_steps') },
  series_gaps: { requests: 'read', rows: OF_CLUSTER, reason: 'a gap of the stream is one of every job of the cluster' },
  sessions: { requests: 'none', reason: 'they say who asks, so there is no scope yet' },
  settings: { requests: 'none', reason: 'secrets of the API, read at the start of a process' },
  step_epochs: { requests: 'read', rows: byJobUid('step_epochs') },
  step_levels: { requests: 'read', rows: byJobUid('step_levels') },
  steps: { requests: 'read', rows: byJobUid('steps') },
  webhook_deliveries: { requests: 'log', rows: byProject() },
  webhooks: { requests: 'write', rows: byProject() },
};

/** Tables that no role but their owner may touch, and that therefore need no policy. */
export const TABLES_OF_THE_OWNER: readonly string[] = ['migrations'];

/** What is granted to the role of requests. */
export const PRIVILEGES: Readonly<Record<RequestRights, readonly string[]>> = {
  write: ['DELETE', 'INSERT', 'SELECT', 'UPDATE'],
  read: ['SELECT'],
  upsert: ['INSERT', 'SELECT', 'UPDATE'],
  log: ['INSERT', 'SELECT'],
  none: [],
};

/** What is granted to the system role, on every table. */
export const SYSTEM_PRIVILEGES: readonly string[] = PRIVILEGES.write;
