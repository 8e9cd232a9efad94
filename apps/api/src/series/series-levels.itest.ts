import { randomUUID } from 'node:crypto';
import type { StepFrame, StepPoint } from '@coxswain/api-types';
import type { Database } from '@coxswain/persistence';
import { createLogger } from '@coxswain/telemetry';
import type { SharedPostgres } from '@coxswain/test-harness';
import type { Cluster } from '../infrastructure/tokens.ts';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { twoClusters } from '../testing/two-clusters.ts';
import { CurveReader } from '../curves/curve-reader.ts';
import { bringLevels, type TouchedBucket } from './level-store.ts';
import { sweepSeries } from './series-retention.ts';
import { SeriesStore } from './series-store.ts';
import { aStepFrame } from './testing/a-step-frame.ts';

let postgres: SharedPostgres;
let there: TestDatabase;
let database: Database;
let here: Cluster;
let elsewhere: Cluster;
const logger = createLogger({ program: 'test', level: 'silent' });
const never = new AbortController().signal;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'series_levels');
  ({ database } = there);
  ({ here, elsewhere } = await twoClusters(database));
});
afterAll(async () => {
  await there?.close();
});

const write = (frames: readonly StepFrame[], cluster = here): Promise<void> =>
  new SeriesStore(database, cluster).write(frames, []);
const steps = (jobUid: string, from: number, to: number, overrides: Partial<StepFrame> = {}): readonly StepFrame[] =>
  Array.from({ length: to - from + 1 }, (_, index) =>
    aStepFrame({ jobUid, step: from + index, loss: 5 - (from + index) / 10_000, tokens: 1_000, ...overrides }),
  );
const curve = (jobUid: string, request: object, cluster = here): Promise<readonly StepPoint[]> =>
  new CurveReader(database, cluster).read(jobUid, {
    fromStep: 0,
    toStep: Number.MAX_SAFE_INTEGER,
    limit: 10_000,
    ...request,
  });
const drawn = (jobUid: string, maxPoints: number, cluster = here): Promise<readonly StepPoint[]> =>
  new CurveReader(database, cluster).read(jobUid, { fromStep: 0, toStep: Number.MAX_SAFE_INTEGER, maxPoints });
const count = async (text: string, parameters: readonly unknown[] = []): Promise<number> =>
  (await database.query(text, parameters)).rows.length;

const BUCKETS_WANTED = `
  SELECT epoch, width, step / width AS bucket, min(step) AS first_step, max(step) AS last_step, count(*)::integer AS steps,
         count(loss)::integer AS losses, round(sum(loss)::numeric, 6) AS loss_sum, min(loss) AS loss_min, max(loss) AS loss_max,
         round(sum(step_time_ms)::numeric, 6) AS step_time_sum, max(step_time_ms) AS step_time_max, count(grad_norm)::integer AS grads,
         count(learning_rate)::integer AS rates, max(learning_rate) AS rate_max
    FROM steps CROSS JOIN (VALUES (10), (100), (1000)) AS w (width) WHERE job_uid = $1 GROUP BY epoch, width, step / width`;
const BUCKETS_WRITTEN = `
  SELECT epoch, width, bucket, first_step, last_step, steps, losses, round(loss_sum::numeric, 6) AS loss_sum, loss_min, loss_max,
         round(step_time_sum::numeric, 6) AS step_time_sum, step_time_max, grads, rates, rate_max FROM step_levels WHERE job_uid = $1`;
/** Buckets that differ from what the steps themselves say. */
const WRONG_BUCKETS = `(${BUCKETS_WANTED} EXCEPT ${BUCKETS_WRITTEN}) UNION ALL (${BUCKETS_WRITTEN} EXCEPT ${BUCKETS_WANTED})`;

describe('levels of a series', () => {
  it.each<[string, readonly (readonly StepFrame[])[]]>([
    ['as steps come one by one', Array.from({ length: 25 }, (_, index) => steps('uid', index + 1, index + 1))],
    ['as steps come in batches', [steps('uid', 1, 995), steps('uid', 996, 2_345)]],
    ['when steps come again', [steps('uid', 1, 250), steps('uid', 120, 260)]],
    ['when a step is completed later', [steps('uid', 1, 250, { loss: null }), steps('uid', 17, 18, { gradNorm: 2 })]],
    [
      'when a learning rate comes later',
      [
        steps('uid', 1, 250),
        steps('uid', 17, 18, { learningRate: 0.1 }),
        steps('uid', 251, 252, { learningRate: 0.2 }),
      ],
    ],
    ['when a slower rank corrects a step', [steps('uid', 1, 250), steps('uid', 131, 131, { stepTimeMs: 5_000 })]],
    ['of each epoch apart', [steps('uid', 1, 250), steps('uid', 101, 180, { epoch: 2 })]],
    [
      'when every tenth step is told',
      [Array.from({ length: 300 }, (_, i) => aStepFrame({ jobUid: 'uid', step: i * 10 }))],
    ],
  ])('say what the steps say %s', async (_sentence, batches) => {
    const uid = randomUUID();
    for (const frames of batches) await write(frames.map((frame) => ({ ...frame, jobUid: uid })));
    expect(await count(WRONG_BUCKETS, [uid])).toBe(0);
    expect(await count('SELECT 1 FROM step_levels WHERE job_uid = $1 AND width = 1000', [uid])).toBeGreaterThan(0);
  });
});

it('are made of the steps below them and of no others in a month that has just begun, which has no statistics', async () => {
  const fresh = await createTestDatabase(postgres, 'series_of_a_fresh_month');
  try {
    const clusters = await twoClusters(fresh.database);
    const fetched = await fresh.database.transaction(async (sql) => {
      await sql.query("SELECT ensure_series_month('2026-11-01')");
      const { rows: touched } = await sql.query<TouchedBucket>(
        `WITH written AS (
           INSERT INTO steps (cluster_id, month, job_uid, epoch, step, step_time_ms, at)
           SELECT $1, '2026-11-01', $2, 1, step, 1, now() FROM generate_series(1, 10000) AS step RETURNING job_uid, month, epoch, step)
         SELECT job_uid AS "jobUid", month::text, epoch, step / 10 AS bucket, min(step) AS "firstStep", max(step) AS "lastStep"
           FROM written GROUP BY job_uid, month, epoch, step / 10`,
        [clusters.here.id, randomUUID()],
      );
      await bringLevels(sql, clusters.here.id, touched);
      const { rows } = await sql.query<{ fetched: string }>(
        "SELECT idx_tup_fetch AS fetched FROM pg_stat_xact_all_tables WHERE relname = 'steps_2026_11'",
      );
      return Number(rows[0]?.fetched);
    });
    expect(fetched).toBe(10_000);
  } finally {
    await fresh.close();
  }
});

it('keep the extremes of values that no sum can hold', async () => {
  const uid = randomUUID();
  await write(steps(uid, 1, 30, { loss: 1.7e308, stepTimeMs: 1.7e308 }));
  const points = await drawn(uid, 4);
  expect(points.reduce((sum, { bucket }) => sum + (bucket?.steps ?? 1), 0)).toBe(30);
  expect(points.map(({ bucket }) => bucket?.loss?.max)).toEqual(points.map(() => 1.7e308));
});

describe('a curve', () => {
  const uid = randomUUID();
  beforeAll(async () => {
    for (let from = 1; from <= 18_001; from += 2_000) await write(steps(uid, from, from + 1_999));
    await write(steps(uid, 7_777, 7_777, { stepTimeMs: 90_000 }));
    await write(steps(uid, 15_051, 16_500, { epoch: 2, loss: 1 }));
  });

  it.each([2, 10, 100, 1_000, 5_000])('of %d points at most has every step that counts once', async (maxPoints) => {
    const points = await drawn(uid, maxPoints);
    expect(points.length).toBeLessThanOrEqual(maxPoints);
    expect(points.reduce((sum, { bucket }) => sum + (bucket?.steps ?? 1), 0)).toBe(16_500);
    expect(points.at(-1)?.bucket?.lastStep ?? points.at(-1)?.step).toBe(16_500);
    for (const [index, point] of points.entries()) {
      const before = points[index - 1];
      if (before !== undefined) expect(before.bucket?.lastStep ?? before.step).toBeLessThan(point.step);
      expect(point.epoch).toBe(point.step <= 15_050 ? 1 : 2);
    }
  });

  it.each([10, 100, 1_000])('of %d points shows a spike of one step', async (maxPoints) => {
    const points = await drawn(uid, maxPoints);
    expect(Math.max(...points.map(({ bucket, stepTimeMs }) => bucket?.stepTimeMs.max ?? stepTimeMs))).toBe(90_000);
    const undone = points.filter(({ bucket, step }) => step > 15_050 && (bucket?.loss?.max ?? 1) !== 1);
    expect(undone).toEqual([]);
  });

  it('has the learning rate of its steps', async () => {
    const of = randomUUID();
    await write([1, 2, 3, 4].map((step) => aStepFrame({ jobUid: of, step, learningRate: step / 8 })));
    const [first, second] = await drawn(of, 2);
    expect([first?.learningRate, second?.learningRate]).toEqual([0.1875, 0.4375]);
    expect(first?.bucket?.learningRate).toEqual({ min: 0.125, max: 0.25 });
    expect((await curve(of, {})).map(({ learningRate }) => learningRate)).toEqual([0.125, 0.25, 0.375, 0.5]);
  });

  it('says means, and least and greatest, of the steps of a point', async () => {
    const [point] = await new CurveReader(database, here).read(uid, { fromStep: 100, toStep: 199, maxPoints: 2 });
    expect(point).toMatchObject({ epoch: 1, step: 100, tokens: 50_000, tokensPerSecond: 10_000, stepTimeMs: 100 });
    expect(point?.loss).toBeCloseTo(4.98755, 6);
    expect(point?.bucket).toMatchObject({ lastStep: 149, steps: 50, loss: { min: 4.9851, max: 4.99 } });
  });

  it('by pages is every step that counts, and goes on over a restart', async () => {
    const page = await curve(uid, { fromStep: 15_049, limit: 4 });
    expect(page.map(({ epoch, step, bucket }) => [epoch, step, bucket])).toEqual([
      [1, 15_049, null],
      [1, 15_050, null],
      [2, 15_051, null],
      [2, 15_052, null],
    ]);
    expect(await curve(uid, { epoch: 1, fromStep: 19_999 })).toHaveLength(2);
  });

  it('of a job of another cluster with the same UID is another curve', async () => {
    await write(steps(uid, 1, 3, { loss: 9 }), elsewhere);
    expect((await drawn(uid, 10, elsewhere)).map(({ loss }) => loss)).toEqual([9, 9, 9]);
    expect((await drawn(uid, 10)).some(({ loss }) => loss === 9)).toBe(false);
  });
});

describe('retention', () => {
  const sweep = (stepsDays: number, levelsDays: number, cluster = here): Promise<void> =>
    sweepSeries({ database, cluster, retention: { stepsDays, levelsDays }, logger }, never);
  const rowsOf = async (uid: string): Promise<readonly number[]> => [
    await count('SELECT 1 FROM steps WHERE job_uid = $1', [uid]),
    await count('SELECT 1 FROM step_levels WHERE job_uid = $1', [uid]),
  ];
  /** A job that began in that month and ended so many days ago; undefined: it goes on. */
  const aJob = async (month: string, endedDaysAgo: number | undefined, cluster = here): Promise<string> => {
    const uid = randomUUID();
    await database.query(
      'INSERT INTO job_series (cluster_id, job_uid, month, began_at) VALUES ($1, $2, $3::date, $3::date)',
      [cluster.id, uid, month],
    );
    await database.query(
      `INSERT INTO jobs (id, cluster_id, uid, namespace, name, spec, state, finished_at)
       VALUES ($1, $2, $3, 'research', $3, '{}', 'Running', now() - make_interval(days => $4))`,
      [randomUUID(), cluster.id, uid, endedDaysAgo ?? null],
    );
    await write(steps(uid, 1, 25), cluster);
    return uid;
  };

  it('removes the steps of jobs that ended long ago, and their curve is drawn from levels', async () => {
    const [old, recent, running] = [
      await aJob('2026-03-01', 31),
      await aJob('2026-03-01', 29),
      await aJob('2026-03-01', undefined),
    ];
    await sweep(30, 365);
    expect(await rowsOf(old)).toEqual([0, 5]);
    expect(await rowsOf(recent)).toEqual([25, 5]);
    expect(await rowsOf(running)).toEqual([25, 5]);
    expect((await curve(old, {})).map(({ step, bucket }) => [step, bucket?.lastStep])).toEqual([
      [1, 9],
      [10, 19],
      [20, 25],
    ]);
    await write(steps(old, 26, 30));
    expect(await rowsOf(old)).toEqual([0, 5]);
  });

  it('drops a month in which nothing counts any more, of this cluster or another', async () => {
    const [mine, theirs] = [await aJob('2026-04-01', 400), await aJob('2026-04-01', 400, elsewhere)];
    const isThere = (): Promise<number> => count("SELECT 1 FROM pg_class WHERE relname = 'steps_2026_04'");
    await sweep(30, 365);
    expect(await rowsOf(mine)).toEqual([0, 0]);
    expect(await rowsOf(theirs)).toEqual([25, 5]);
    expect(await isThere()).toBe(1);
    expect(await drawn(mine, 10)).toEqual([]);
    await sweep(30, 365, elsewhere);
    expect(await rowsOf(theirs)).toEqual([0, 0]);
    expect(await isThere()).toBe(0);
  });

  it.each<[string, string, string, boolean]>([
    ['the month that goes on', 'steps', "date_trunc('month', now() AT TIME ZONE 'UTC')", false],
    ['one to come', 'step_levels', "date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month'", false],
    ['one of a table that has no months', 'jobs', "'2020-01-01'", false],
    ['one that is gone', 'steps', "'2020-01-01'", true],
  ])('has a function that of its own drops nothing of %s', async (_what, parent, month, isGone) => {
    await database.query('SELECT ensure_series_month(date_trunc($1, now() AT TIME ZONE $2)::date)', ['month', 'UTC']);
    const partitions = (): Promise<number> =>
      count("SELECT 1 FROM pg_inherits WHERE inhparent IN ('steps'::regclass, 'step_levels'::regclass)");
    const before = await partitions();
    const { rows } = await database.query(`SELECT remove_series_month($1, (${month})::date, $2) AS is_gone`, [
      parent,
      here.id,
    ]);
    expect([rows, await partitions()]).toEqual([[{ is_gone: isGone }], before]);
  });

  it('removes nothing where it is kept for ever, nor of this month at once', async () => {
    const uid = await aJob('2026-05-01', 4_000);
    await sweep(0, 0);
    expect(await rowsOf(uid)).toEqual([25, 5]);
  });
});
