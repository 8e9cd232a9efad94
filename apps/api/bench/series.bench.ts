/**
 * What does a long curve cost, to write and to draw? A real PostgreSQL; one job of 500,000 steps, then 200 jobs at once. Beside it the same in one flat table as
 * it was before levels: written without them, and drawn by sorting every step.
 *
 * Run: `npm run api:bench -- series [STEPS]`. Ends with 1 when 2,000 points took the database 50 ms or more (median of 20): planning, running and writing out, as
 * EXPLAIN ANALYZE tells of the statements of one drawing, under the policies of a member of the project. Beside it stands what the client waits, begin and end of the transaction included.
 */
import { randomUUID } from 'node:crypto';
import type { StepFrame } from '@coxswain/api-types';
import { startPostgres } from '@coxswain/local-cluster';
import { Database, type Scope, type Sql } from '@coxswain/persistence';
import { CurveReader } from '../src/curves/curve-reader.ts';
import { SeriesStore } from '../src/series/series-store.ts';
import { aStepFrame } from '../src/series/testing/a-step-frame.ts';
import { createTestDatabase, type TestDatabase } from '../src/testing/test-database.ts';

const HELP = `npm run api:bench -- series [STEPS]

What a curve of so many steps (500,000) costs to write and to draw in 2,000 points, beside one flat table. The bar: drawn from under 50 ms of database time.
Takes about a minute on two busy cores.
`;

const STEPS = Number(process.argv[2] ?? 500_000);
/** What the reader of the operator's stream writes at once, at most. */
const BATCH = 2_000;
const LIMIT_MS = 50;
const POINTS = 2_000;

const FLAT = `
  CREATE SEQUENCE step_changes;
  CREATE TABLE flat_steps (
    cluster_id uuid NOT NULL, job_uid text NOT NULL, epoch integer NOT NULL, step bigint NOT NULL, loss double precision, tokens bigint,
    step_time_ms double precision NOT NULL, grad_norm double precision, learning_rate double precision, at timestamptz NOT NULL,
    change bigint NOT NULL DEFAULT nextval('step_changes'), PRIMARY KEY (cluster_id, job_uid, epoch, step));
  CREATE INDEX flat_steps_by_change ON flat_steps (cluster_id, job_uid, change)`;
const WRITE_FLAT = `
  INSERT INTO flat_steps (cluster_id, job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at)
  SELECT $1, s.* FROM jsonb_to_recordset($2::jsonb) AS s (
    "jobUid" text, epoch integer, step bigint, loss double precision, tokens bigint, "stepTimeMs" double precision,
    "gradNorm" double precision, "learningRate" double precision, at timestamptz)
  ON CONFLICT (cluster_id, job_uid, epoch, step) DO UPDATE SET step_time_ms = greatest(flat_steps.step_time_ms, excluded.step_time_ms)`;
const DRAW_FLAT = `
  SELECT min(step) AS step, avg(loss) AS loss, min(loss), max(loss), avg(step_time_ms), max(step_time_ms) FROM (
    SELECT *, ntile($3) OVER (ORDER BY step) AS bucket FROM (
      SELECT DISTINCT ON (step) step, loss, step_time_ms FROM flat_steps WHERE cluster_id = $1 AND job_uid = $2 ORDER BY step, epoch DESC
    ) AS newest) AS bucketed GROUP BY bucket ORDER BY step`;

if (process.argv.includes('--help')) process.stdout.write(HELP);
else if (!Number.isSafeInteger(STEPS) || STEPS < 1) throw new Error(`STEPS must be a whole number of steps\n${HELP}`);
else await run();

async function run(): Promise<void> {
  const postgres = await startPostgres();
  try {
    const there = await createTestDatabase(postgres, 'bench');
    const before = await Database.connect({ url: await postgres.createDatabase('flat'), applicationName: 'bench' });
    try {
      await bench(there, before);
    } finally {
      await Promise.all([there.close(), before.close()]);
    }
  } finally {
    await postgres.stop();
  }
}

async function bench({ database, tenantDatabase, urls }: TestDatabase, before: Database): Promise<void> {
  const cluster = { id: randomUUID(), name: 'bench' };
  await database.query('INSERT INTO clusters (id, name) VALUES ($1, $2)', [cluster.id, cluster.name]);
  const project = randomUUID();
  await database.query("INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, 'research')", [
    project,
    cluster.id,
  ]);
  await before.query(FLAT);
  const store = new SeriesStore(database, cluster);
  const flat = async (frames: readonly StepFrame[]): Promise<void> => {
    await before.query(WRITE_FLAT, [cluster.id, JSON.stringify(frames)]);
  };
  const levelled = (frames: readonly StepFrame[]): Promise<void> => store.write(frames, []);

  const uid = randomUUID();
  await database.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state)
     SELECT gen_random_uuid(), $1, uid, $2, 'research', uid, '{}', 'Running'
       FROM (SELECT $3 AS uid UNION ALL SELECT gen_random_uuid()::text FROM generate_series(1, 999)) AS jobs`,
    [cluster.id, project, uid],
  );
  const batches = Array.from({ length: Math.ceil(STEPS / BATCH) }, (_, index) =>
    framesOf(uid, index * BATCH + 1, BATCH),
  );
  tell(`${STEPS} steps of one job, ${BATCH} at once: flat`, await times(batches, flat));
  tell(`${STEPS} steps of one job, ${BATCH} at once: with levels`, await times(batches, levelled));
  const jobs = Array.from({ length: 200 }, () => randomUUID());
  const rounds = Array.from({ length: 20 }, (_, round) => jobs.flatMap((job) => framesOf(job, round * 5 + 1, 5)));
  tell('5 steps of each of 200 jobs at once: flat', await times(rounds, flat));
  tell('5 steps of each of 200 jobs at once: with levels', await times(rounds, levelled));

  // As autovacuum does sooner or later.
  await before.query('ANALYZE');
  const owner = await Database.connect({ url: urls.migrator, applicationName: 'bench' });
  await owner.query('ANALYZE');
  await owner.close();
  const looks = Array.from({ length: 20 });
  const drawFlat = (): Promise<unknown> => before.query(DRAW_FLAT, [cluster.id, uid, POINTS]);
  const scope: Scope = {
    clusterId: cluster.id,
    principalId: randomUUID(),
    reach: { kind: 'projects', ids: [project] },
  };
  const all = { fromStep: 0, toStep: Number.MAX_SAFE_INTEGER };
  const request = { ...all, maxPoints: POINTS };
  let points = 0;
  const draw = async (): Promise<void> => {
    const read = await tenantDatabase.within(scope, (sql) => new CurveReader(sql, cluster).read(uid, request));
    points = read.length;
  };
  const databaseMs = async (): Promise<number> =>
    tenantDatabase.within(scope, async (sql) => {
      const timed = timedByDatabase(sql);
      await new CurveReader(timed.sql, cluster).read(uid, request);
      return timed.tookMs();
    });
  tell('drawn by sorting every step', await times(looks, drawFlat));
  tell('drawn from levels, as the client waits', await times(looks, draw));
  const drawn: number[] = [];
  for (const _ of looks) drawn.push(await databaseMs());
  tell(`drawn from levels, ${points} points: database time`, drawn);
  const mib = async (where: Pick<Database, 'query'>, from: string): Promise<number> => {
    const text = `SELECT round(sum(pg_total_relation_size(relid)) / 1048576)::integer AS mib FROM ${from}`;
    return (await where.query<{ mib: number }>(text)).rows[0]?.mib ?? NaN;
  };
  const [steps, levels] = [
    await mib(database, "pg_partition_tree('steps')"),
    await mib(database, "pg_partition_tree('step_levels')"),
  ];
  const flatMib = await mib(before, "(VALUES ('flat_steps'::regclass)) AS t (relid)");
  console.log(`on disk: steps ${steps} MiB and levels ${levels} MiB, flat ${flatMib} MiB`);
  const isFast = median(drawn) < LIMIT_MS;
  console.log(JSON.stringify({ databaseMs: median(drawn), limitMs: LIMIT_MS, points, isFast }));
  process.exitCode = isFast ? 0 : 1;
}

/** Runs each statement twice: once to be told what it takes, once for its rows. */
function timedByDatabase(sql: Sql): { readonly sql: Sql; readonly tookMs: () => number } {
  let tookMs = 0;
  const query: Sql['query'] = async (statement, parameters) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    const { rows } = await sql.query<{ 'QUERY PLAN': readonly Record<'Planning Time' | 'Execution Time', number>[] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, SERIALIZE TEXT, FORMAT JSON) ${text}`,
      parameters,
    );
    const [told] = rows[0]?.['QUERY PLAN'] ?? [];
    tookMs += (told?.['Planning Time'] ?? NaN) + (told?.['Execution Time'] ?? NaN);
    return sql.query(statement, parameters);
  };
  return { sql: { query }, tookMs: () => tookMs };
}

function framesOf(jobUid: string, from: number, count: number): readonly StepFrame[] {
  return Array.from({ length: count }, (_, index) => {
    const step = from + index;
    return aStepFrame({
      jobUid,
      step,
      loss: 2 + 3 / Math.sqrt(step) + (step % 97) / 1_000,
      tokens: 4_194_304,
      gradNorm: 1,
    });
  });
}

async function times<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<readonly number[]> {
  const taken: number[] = [];
  for (const item of items) {
    const begunMs = performance.now();
    await act(item);
    taken.push(performance.now() - begunMs);
  }
  return taken;
}

function tell(what: string, taken: readonly number[]): void {
  const total = taken.reduce((sum, one) => sum + one, 0);
  console.log(
    `${what}: ${median(taken).toFixed(1)} ms (median of ${taken.length}; at most ${Math.max(...taken).toFixed(1)} ms, together ${(total / 1_000).toFixed(1)} s)`,
  );
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
