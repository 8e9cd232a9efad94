/** Which incidents does a resource tell of, and how do they become rows? */
import { Incident, MAX_INCIDENTS_IN_STATUS, type TrainingJob } from '@coxswain/api-types';
import { type Sql, storableJson } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { type JobNews, newsOfIncident } from '../messages/job-news.ts';

/** Kept of a job; of more the oldest go. */
export const MAX_INCIDENTS_OF_JOB = 500;

/** The valid incidents: users who can write a status can write anything, and one bad entry must not hide the others. */
export function incidentsOf(job: TrainingJob): readonly Incident[] {
  const entries: unknown = job.status?.incidents;
  if (!Array.isArray(entries)) return [];
  const read = entries.slice(-MAX_INCIDENTS_IN_STATUS).flatMap((entry: unknown) => {
    const { success, data } = Incident.safeParse(entry);
    return success && !Number.isNaN(Date.parse(data.noticedAt)) ? [data] : [];
  });
  return [...new Map(read.map((incident) => [incident.id, incident])).values()];
}

/** Writes incidents to rows and returns what changed. A repeated incident updates its row; a closed one stays closed. The job's row is locked. */
export async function projectIncidents(
  sql: Sql,
  cluster: Cluster,
  { jobId, job }: { readonly jobId: string; readonly job: TrainingJob },
): Promise<readonly JobNews[]> {
  const incidents = incidentsOf(job);
  if (incidents.length === 0) return [];
  const rows = incidents.map((incident) => ({
    key: incident.id,
    kind: incident.kind,
    node: incident.node ?? null,
    noticed_at: new Date(incident.noticedAt).toISOString(),
    is_open: incident.outcome === undefined,
    incident,
  }));
  const written = await sql.query<{ before: Incident | null; incident: Incident }>(
    `INSERT INTO incidents (cluster_id, job_id, key, kind, node, noticed_at, is_open, incident)
     SELECT $1, $2, t.key, t.kind, t.node, t.noticed_at, t.is_open, t.incident
       FROM jsonb_to_recordset($3::jsonb)
         AS t (key text, kind text, node text, noticed_at timestamptz, is_open boolean, incident jsonb)
     ON CONFLICT (job_id, key) DO UPDATE
        SET kind = excluded.kind, node = excluded.node, is_open = excluded.is_open, incident = excluded.incident
      WHERE incidents.incident IS DISTINCT FROM excluded.incident
     RETURNING incident, (SELECT known.incident FROM incidents known WHERE known.id = incidents.id) AS before`,
    [cluster.id, jobId, storableJson(rows)],
  );
  if (written.rows.length === 0) return [];
  await sql.query(
    `DELETE FROM incidents WHERE job_id = $1 AND id IN (
       SELECT id FROM incidents WHERE job_id = $1 ORDER BY noticed_at DESC, id DESC OFFSET $2)`,
    [jobId, MAX_INCIDENTS_OF_JOB],
  );
  return written.rows.flatMap(({ before, incident }) => newsOfIncident(before, incident));
}
