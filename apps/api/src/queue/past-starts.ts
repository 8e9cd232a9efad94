import { MAX_PAST_STARTS, type PastStart, type PastStarts } from '@coxswain/api-types';
import type { Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';

/** How far back starts are counted. */
const PAST_MS = 30 * 86_400_000;

interface StartRow {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly project: string | null;
  readonly expected_since: string;
  readonly expected: string;
  readonly actual: string;
}

/** Expected starts of the last 30 days that came, of jobs of the scope. */
export async function readPastStarts(
  sql: Sql,
  cluster: Cluster,
  { projectId, now }: { readonly projectId: string | null; readonly now: Date },
): Promise<PastStarts> {
  const found = await sql.query<StartRow>(STARTS, [
    cluster.id,
    projectId,
    new Date(now.getTime() - PAST_MS).toISOString(),
  ]);
  return pastStarts(found.rows.flatMap(toPastStart));
}

const STARTS = `
  SELECT j.id, j.name, j.namespace, p.name AS project, j.first_expected_start ->> 'since' AS expected_since,
         j.first_expected_start ->> 'start' AS expected, a.started_at AS actual
    FROM jobs j
    LEFT JOIN projects p ON p.id = j.project_id
    JOIN LATERAL (
      SELECT min(attempt ->> 'startedAt') AS started_at FROM attempts
       WHERE cluster_id = j.cluster_id AND job_uid = j.uid AND attempt ->> 'startedAt' >= j.first_expected_start ->> 'since') AS a
      ON a.started_at IS NOT NULL
   WHERE j.cluster_id = $1 AND ($2::uuid IS NULL OR j.project_id = $2) AND j.first_expected_start IS NOT NULL
     AND j.updated_at > ($3::text)::timestamptz AND a.started_at > $3::text
   ORDER BY a.started_at DESC LIMIT ${MAX_PAST_STARTS}`;

/** A record that cannot be read is left out. */
function toPastStart({ expected_since: since, expected, actual, ...job }: StartRow): PastStart[] {
  const [sinceMs, expectedMs, actualMs] = [since, expected, actual].map((at) => Date.parse(at));
  if (sinceMs === undefined || expectedMs === undefined || actualMs === undefined) return [];
  if ([sinceMs, expectedMs, actualMs].some(Number.isNaN)) return [];
  const errorMs = actualMs - expectedMs;
  const waitMs = expectedMs - sinceMs;
  return [
    {
      job,
      expectedSince: new Date(sinceMs).toISOString(),
      expected: new Date(expectedMs).toISOString(),
      actual: new Date(actualMs).toISOString(),
      errorSeconds: Math.round(errorMs / 1_000),
      errorPct: waitMs > 0 ? Math.round((1_000 * errorMs) / waitMs) / 10 : null,
    },
  ];
}

/** Figures of these starts. */
export function pastStarts(items: readonly PastStart[]): PastStarts {
  const seconds = sorted(items.map(({ errorSeconds }) => errorSeconds));
  const percents = sorted(items.flatMap(({ errorPct }) => errorPct ?? []));
  return {
    count: items.length,
    medianErrorSeconds: quantile(seconds, 0.5),
    p90ErrorSeconds: quantile(seconds, 0.9),
    medianErrorPct: quantile(percents, 0.5),
    p90ErrorPct: quantile(percents, 0.9),
    items: [...items],
  };
}

function sorted(errors: readonly number[]): readonly number[] {
  return errors.map(Math.abs).sort((left, right) => left - right);
}

/** The smallest value that so many of them do not exceed. */
function quantile(values: readonly number[], share: number): number | null {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? null;
}
