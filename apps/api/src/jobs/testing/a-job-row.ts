import { aJobSpec } from '@coxswain/api-types/testing';
import type { JobRow } from '../job-row.ts';

/** A row that was just asked for: no resource yet. */
export function aJobRow(overrides: Partial<JobRow> = {}): JobRow {
  const createdAt = new Date('2026-01-01T00:00:00Z');
  return {
    id: '3f1c2b9e-0000-4000-8000-000000000009',
    cluster_id: '3f1c2b9e-0000-4000-8000-00000000000c',
    uid: null,
    project_id: '3f1c2b9e-0000-4000-8000-00000000000b',
    project_name: 'research',
    namespace: 'research',
    name: 'tiny-gpt',
    submitted_by: '3f1c2b9e-0000-4000-8000-00000000000a',
    owner: 'ada',
    spec: aJobSpec(),
    desired_suspend: null,
    desired_cancel: false,
    desired_layout: null,
    desired_gpus: null,
    desired_resume_from: null,
    desired_delete: false,
    labels: {},
    desired_labels: null,
    generation: '1',
    applied_generation: '0',
    state: 'Submitting',
    summary: 'Recorded; on its way to the cluster.',
    status: {},
    resource_version: null,
    version: '1',
    spec_version: '1',
    created_at: createdAt,
    updated_at: createdAt,
    finished_at: null,
    deleted_at: null,
    apply_error: null,
    apply_failing_since: null,
    apply_retry_at: null,
    created_at_text: '2026-01-01 00:00:00+00',
    finished_at_text: null,
    ...overrides,
  };
}
