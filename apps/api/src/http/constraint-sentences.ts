import { DomainError, type DomainErrorCode } from '@coxswain/domain-error';
import { DatabaseError } from '@coxswain/persistence';

/** The message for a caller whose request violates a constraint of the database. */
interface ConstraintMessage {
  readonly code: DomainErrorCode;
  readonly detail: string;
}

/**
 * The sentence of each constraint that a request can meet. A service that knows the names says it better, and does; this is for the paths that nobody
 * thought of. A test reads the catalogue of the database: a constraint that stands neither here nor below fails it.
 */
export const CONSTRAINT_SENTENCES: Readonly<Record<string, ConstraintMessage>> = {
  projects_name: { code: 'NAME_TAKEN', detail: 'a project of that name exists already; choose another name' },
  project_namespaces_pkey: {
    code: 'NAME_TAKEN',
    detail: 'one of the namespaces belongs to another project; leave it out',
  },
  jobs_live_name: {
    code: 'NAME_TAKEN',
    detail: 'a job of that name exists in the namespace; choose another name or delete it',
  },
  layouts_name: { code: 'NAME_TAKEN', detail: 'a layout of that name exists in the project; choose another name' },
  idempotency_keys_pkey: {
    code: 'CONFLICT',
    detail: 'a request with this Idempotency-Key is under way; try again in a second',
  },
  group_roles_of_project: {
    code: 'CONFLICT',
    detail: 'the role of this group is being changed by another request; try again in a second',
  },
  group_roles_of_cluster: {
    code: 'CONFLICT',
    detail: 'the role of this group is being changed by another request; try again in a second',
  },
  sessions_id_token_sha256_key: {
    code: 'UNAUTHENTICATED',
    detail: 'this ID token was used before; try to sign in anew',
  },
  sessions_prefix_key: { code: 'UNAVAILABLE', detail: 'the session that was made resembles another one; try again' },
  api_tokens_prefix_key: { code: 'UNAVAILABLE', detail: 'the token that was made resembles another one; try again' },
};

/** Why no request can meet the other constraints. What meets one of them is a fault of ours, and answered as one. */
export const UNREACHABLE_CONSTRAINTS: Readonly<Record<string, string>> = {
  settings_pkey: 'settings are made at the start, with ON CONFLICT',
  clusters_name_key: 'clusters are recorded at the start, with ON CONFLICT',
  api_tokens_role_check: 'the schemas of the requests name the same roles',
  api_tokens_secret_sha256_check: 'a SHA-256 has 32 bytes',
  cluster_administrators_have_no_project:
    'administrators are made by a command of their own, tokens of projects with other roles',
  audit_outcome: 'the API writes no other outcome',
  audit_outbox_pkey: 'a trigger queues each entry once, when it is written',
  audit_outbox_in_order: 'the sender alone gives numbers, under a lock of the row that counts them',
  audit_entries_are_small: 'texts of an entry are cut, and a detail that is too long is left out',
  group_roles_role_check: 'the schemas of the requests name the same roles',
  groups_of_administrators_have_no_project: 'the service refuses roles that do not fit the project, or the cluster',
  group_roles_kind: 'the schemas of the requests name the same kinds',
  only_groups_of_people_have_an_issuer: 'the service gives an issuer to groups of people alone',
  sessions_kind_check: 'the API names no other kinds',
  sessions_secret_sha256_check: 'a SHA-256 has 32 bytes',
  principals_kind_check: 'the API names no other kinds',
  principals_subject: 'services have a subject made at random; people and accounts are recorded with ON CONFLICT',
  only_services_are_of_a_project: 'people and accounts are recorded without a project',
  projects_tenant: 'ids are made at random, and this key is there for foreign keys',
  principals_tenant: 'as projects_tenant',
  api_tokens_tenant: 'as projects_tenant',
  jobs_uid: 'the projection looks the UID up first, under a lock',
  job_events_key: 'events are recorded with ON CONFLICT',
  incidents_key: 'incidents are recorded with ON CONFLICT',
  job_labels_pkey: 'a trigger writes the labels of a job anew',
  job_name_words_pkey: 'a trigger writes the words of a name anew, each once',
  attempts_pkey: 'the projection writes attempts with ON CONFLICT',
  checkpoint_geometries_pkey: 'the projection writes geometries with ON CONFLICT',
  checkpoint_verifications_pkey: 'the projection writes verifications with ON CONFLICT',
  checkpoints_pkey: 'the projection writes checkpoints with ON CONFLICT',
  placements_pkey: 'the projection writes placements with ON CONFLICT',
  nodes_pkey: 'the projection writes nodes with ON CONFLICT',
  steps_pkey: 'series are written with ON CONFLICT',
  step_epochs_pkey: 'series are written with ON CONFLICT',
  step_levels_pkey: 'series are written with ON CONFLICT',
  job_series_pkey: 'series are written with ON CONFLICT',
  job_series_month_check: 'the database itself says which month it is',
  rank_steps_pkey: 'series are written with ON CONFLICT',
  measured_step_times_pkey: 'measurements are written with ON CONFLICT',
  fabric_chunks_pkey: 'the fabric is recorded with ON CONFLICT',
  outbox_entry_of_job: 'entries are recorded with ON CONFLICT',
  webhooks_tenant: 'as projects_tenant',
  code_archives_pkey: 'archives of code are recorded with ON CONFLICT',
  webhook_deliveries_state: 'the API names no other states',
};

const FOREIGN_KEY_VIOLATION = '23503';
const INTEGRITY_VIOLATION = /^23/;

/** The message for a request that violates this constraint; undefined if the violation is a defect of the API. */
export function sentenceOfConstraint(error: unknown): DomainError | undefined {
  if (!(error instanceof DatabaseError) || !INTEGRITY_VIOLATION.test(error.code)) return undefined;
  if (error.code === FOREIGN_KEY_VIOLATION) {
    return new DomainError('CONFLICT', 'something that the request builds on was removed meanwhile; read it again');
  }
  const refusal = CONSTRAINT_SENTENCES[error.constraint ?? ''];
  return refusal === undefined ? undefined : new DomainError(refusal.code, refusal.detail);
}
