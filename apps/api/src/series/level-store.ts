import { type Sql, storableJson } from '@coxswain/persistence';
import { LEVEL_COLUMNS, LEVEL_WIDTHS, LEVELS_TOGETHER, STEP_AS_LEVEL } from '../curves/step-levels.ts';

/** A bucket of the narrowest level in which steps were written or corrected, and the first and the last of them. */
export interface TouchedBucket {
  readonly jobUid: string;
  readonly month: string;
  readonly epoch: number;
  readonly bucket: string;
  readonly firstStep: string;
  readonly lastStep: string;
}

type Bucket = Pick<TouchedBucket, 'jobUid' | 'month' | 'epoch'> & { readonly bucket: number };

/**
 * Brings every level to what the steps say, in the transaction that wrote them. Each bucket is made anew from the ten below it: so it does not matter
 * whether a step came for the first time, came again, or was completed later.
 */
export async function bringLevels(sql: Sql, clusterId: string, touched: readonly TouchedBucket[]): Promise<void> {
  if (touched.length === 0) return;
  // A sort never pays here, and where a month has no statistics yet it is what makes the index of changes look good; see below.
  await sql.query('SET LOCAL enable_sort = off');
  let buckets: readonly Bucket[] = touched.map((one) => ({ ...one, bucket: Number(one.bucket) }));
  for (const [index, width] of LEVEL_WIDTHS.entries()) {
    const below = LEVEL_WIDTHS[index - 1] ?? 1;
    if (index > 0)
      buckets = distinct(buckets.map((one) => ({ ...one, bucket: Math.floor((one.bucket * below) / width) })));
    await sql.query(index === 0 ? FROM_STEPS : FROM_LEVEL, [
      clusterId,
      storableJson(buckets),
      width,
      ...(index === 0 ? [] : [below]),
    ]);
  }
}

function distinct(buckets: readonly Bucket[]): readonly Bucket[] {
  return [...new Map(buckets.map((one) => [`${one.jobUid}/${one.epoch}/${one.bucket}`, one])).values()];
}

/*
 * The order is that of the primary key. A partition of a month that has just begun has no statistics, so the planner of PostgreSQL may prefer the
 * index of changes. With that index every bucket reads every step of its job, and sorts the ten it wants.
 */
const FROM_STEPS = bring(`
  SELECT ${STEP_AS_LEVEL} FROM steps
   WHERE cluster_id = $1 AND month = t.month AND job_uid = t."jobUid" AND epoch = t.epoch
     AND step BETWEEN t.bucket * $3 AND t.bucket * $3 + $3 - 1
   ORDER BY step`);
const FROM_LEVEL = bring(`
  SELECT ${LEVEL_COLUMNS} FROM step_levels
   WHERE cluster_id = $1 AND month = t.month AND job_uid = t."jobUid" AND epoch = t.epoch AND width = $4::integer
     AND bucket BETWEEN t.bucket * ($3 / $4::integer) AND (t.bucket + 1) * ($3 / $4::integer) - 1
   ORDER BY bucket`);

function bring(parts: string): string {
  const columns = LEVEL_COLUMNS.split(', ');
  return `
  INSERT INTO step_levels (cluster_id, month, job_uid, epoch, width, bucket, ${LEVEL_COLUMNS})
  SELECT $1, t.month, t."jobUid", t.epoch, $3::integer, t.bucket, together.*
    FROM jsonb_to_recordset($2::jsonb) AS t ("jobUid" text, month date, epoch integer, bucket bigint)
   CROSS JOIN LATERAL (SELECT ${LEVELS_TOGETHER} FROM (${parts}) AS part) AS together
   WHERE together.steps > 0
  ON CONFLICT (cluster_id, job_uid, epoch, width, bucket, month)
  DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`;
}
