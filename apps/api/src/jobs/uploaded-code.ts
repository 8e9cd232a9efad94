/** Which archives of code may a job name? Those that its project uploaded for its namespace. */
import type { TrainingJobSpec } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type Sql } from '@coxswain/persistence';

/** What names an archive. */
export interface CodeKey {
  readonly clusterId: string;
  readonly projectId: string;
  readonly namespace: string;
  readonly sha256: string;
}

/** A row of `code_archives`. Absent times: it is not uploaded yet, or is being removed. */
export interface CodeRow {
  readonly sha256: string;
  readonly namespace: string;
  readonly bytes: string;
  readonly uploaded_at: Date | null;
  readonly used_at: Date;
  readonly removed_at: Date | null;
}

const COLUMNS = 'sha256, namespace, bytes, uploaded_at, used_at, removed_at';
const BY_KEY = 'cluster_id = $1 AND project_id = $2 AND namespace = $3 AND sha256 = $4';

const keyOf = ({ clusterId, projectId, namespace, sha256 }: CodeKey): readonly string[] => [
  clusterId,
  projectId,
  namespace,
  sha256,
];

export async function findCode(sql: Sql, key: CodeKey): Promise<CodeRow | undefined> {
  return firstOf(await sql.query<CodeRow>(`SELECT ${COLUMNS} FROM code_archives WHERE ${BY_KEY}`, [...keyOf(key)]));
}

/** Postpones its removal. undefined: it is not there. A removal that has begun does not end: the row then waits for it. */
export async function touchCode(sql: Sql, key: CodeKey): Promise<CodeRow | undefined> {
  const touched = await sql.query<CodeRow>(
    `UPDATE code_archives SET used_at = now() WHERE ${BY_KEY} AND uploaded_at IS NOT NULL AND removed_at IS NULL RETURNING ${COLUMNS}`,
    [...keyOf(key)],
  );
  return firstOf(touched);
}

/** Records that an upload begins, and reserves `bytes`; gives the row, which an earlier upload may have made. */
export async function beginCode(sql: Sql, key: CodeKey, bytes: number): Promise<CodeRow | undefined> {
  await sql.query(
    `INSERT INTO code_archives (cluster_id, project_id, namespace, sha256, bytes) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (cluster_id, project_id, namespace, sha256) DO UPDATE SET bytes = excluded.bytes, used_at = now()
      WHERE code_archives.uploaded_at IS NULL AND code_archives.removed_at IS NULL`,
    [...keyOf(key), bytes],
  );
  return await findCode(sql, key);
}

/** Records that its object is there. undefined: the row was removed meanwhile. */
export async function completeCode(sql: Sql, key: CodeKey, bytes: number): Promise<CodeRow | undefined> {
  const completed = await sql.query<CodeRow>(
    `UPDATE code_archives SET uploaded_at = coalesce(uploaded_at, now()), used_at = now(), bytes = $5
      WHERE ${BY_KEY} AND removed_at IS NULL RETURNING ${COLUMNS}`,
    [...keyOf(key), bytes],
  );
  return firstOf(completed);
}

/** An upload that failed takes no room. Its row stays until a sweep has removed the object, which may be there all the same. */
export async function failCode(sql: Sql, key: CodeKey): Promise<void> {
  await sql.query(`UPDATE code_archives SET bytes = 0 WHERE ${BY_KEY} AND uploaded_at IS NULL`, [...keyOf(key)]);
}

/** Of all archives of the project. Others of the project wait until the transaction ends, so that what it reserves is counted. */
export async function lockedCodeBytes(
  sql: Sql,
  { clusterId, projectId }: Pick<CodeKey, 'clusterId' | 'projectId'>,
): Promise<number> {
  await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 3))', [`${projectId}/codeBytes`]);
  const found = await sql.query<{ bytes: string }>(
    'SELECT coalesce(sum(bytes), 0)::text AS bytes FROM code_archives WHERE cluster_id = $1 AND project_id = $2',
    [clusterId, projectId],
  );
  return Number(firstOf(found)?.bytes ?? 0);
}

/** INVALID_REQUEST unless the archive that the spec names is there. It then stays as long as the job. */
export async function requireUploadedCode(
  sql: Sql,
  of: Omit<CodeKey, 'sha256'>,
  { code }: Pick<TrainingJobSpec, 'code'>,
): Promise<void> {
  if (code === undefined || (await touchCode(sql, { ...of, ...code })) !== undefined) return;
  const detail = `the project has uploaded no archive ${code.sha256} for namespace ${of.namespace}, or it was removed because no job used it; upload the working directory again, as \`coxswain submit --workdir\` does`;
  throw new DomainError('INVALID_REQUEST', `code.sha256: ${detail}`, [{ pointer: '/spec/code/sha256', detail }]);
}
