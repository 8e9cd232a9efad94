import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The first tables. Everything that mirrors the cluster is keyed by cluster id and UID; what people asked for is keyed by our own ids.
 *
 * `jobs` carries both: `spec`, `status` and `resource_version` repeat the resource; the `desired_*` columns and `intent` hold what was
 * asked over the API and is not yet known to be applied (`intent > applied_intent`).
 */
export class CreateTheFirstTables1795269900000 implements MigrationInterface {
  readonly name = 'CreateTheFirstTables1795269900000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE settings (
        key text PRIMARY KEY,
        value text NOT NULL
      );

      CREATE TABLE clusters (
        id uuid PRIMARY KEY,
        name text NOT NULL UNIQUE,
        created_at timestamptz NOT NULL DEFAULT now()
      );

      CREATE TABLE projects (
        id uuid PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        name text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT projects_name UNIQUE (cluster_id, name)
      );

      CREATE TABLE project_namespaces (
        cluster_id uuid NOT NULL REFERENCES clusters,
        namespace text NOT NULL,
        project_id uuid NOT NULL REFERENCES projects,
        position integer NOT NULL,
        PRIMARY KEY (cluster_id, namespace)
      );
      CREATE INDEX project_namespaces_of_project ON project_namespaces (project_id, position);

      CREATE TABLE api_tokens (
        id uuid PRIMARY KEY,
        project_id uuid REFERENCES projects,
        name text NOT NULL,
        role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin', 'clusterAdmin')),
        prefix text NOT NULL UNIQUE,
        secret_sha256 bytea NOT NULL CHECK (length(secret_sha256) = 32),
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        last_used_at timestamptz,
        revoked_at timestamptz,
        CONSTRAINT cluster_administrators_have_no_project CHECK ((role = 'clusterAdmin') = (project_id IS NULL))
      );
      CREATE INDEX api_tokens_of_project ON api_tokens (project_id);

      CREATE TABLE jobs (
        id uuid PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        uid text,
        project_id uuid REFERENCES projects,
        namespace text NOT NULL,
        name text NOT NULL,
        spec jsonb NOT NULL,
        desired_suspend boolean,
        desired_cancel boolean NOT NULL DEFAULT false,
        desired_layout jsonb,
        desired_delete boolean NOT NULL DEFAULT false,
        intent bigint NOT NULL DEFAULT 0,
        applied_intent bigint NOT NULL DEFAULT 0,
        state text NOT NULL,
        summary text NOT NULL DEFAULT '',
        status jsonb NOT NULL DEFAULT '{}',
        resource_version numeric,
        version bigint NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz,
        deleted_at timestamptz,
        CONSTRAINT jobs_uid UNIQUE (cluster_id, uid)
      );
      CREATE UNIQUE INDEX jobs_live_name ON jobs (cluster_id, namespace, name) WHERE deleted_at IS NULL AND state <> 'Refused';
      CREATE INDEX jobs_of_project ON jobs (project_id, created_at DESC, id DESC);
      CREATE INDEX jobs_of_cluster ON jobs (cluster_id, created_at DESC, id DESC);
      CREATE INDEX jobs_pending ON jobs (updated_at) WHERE intent > applied_intent;

      CREATE TABLE attempts (
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_uid text NOT NULL,
        epoch integer NOT NULL,
        attempt jsonb NOT NULL,
        PRIMARY KEY (cluster_id, job_uid, epoch)
      );

      CREATE TABLE layouts (
        id uuid PRIMARY KEY,
        project_id uuid NOT NULL REFERENCES projects,
        name text,
        layout jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX layouts_name ON layouts (project_id, name) WHERE name IS NOT NULL;
      CREATE INDEX layouts_of_project ON layouts (project_id, created_at DESC);

      CREATE TABLE outbox (
        id bigserial PRIMARY KEY,
        job_id uuid NOT NULL REFERENCES jobs,
        created_at timestamptz NOT NULL DEFAULT now()
      );

      CREATE TABLE idempotency_keys (
        principal uuid NOT NULL,
        key text NOT NULL,
        request_sha256 bytea NOT NULL,
        response jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (principal, key)
      );
      CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

      CREATE TABLE job_events (
        id bigserial PRIMARY KEY,
        job_id uuid NOT NULL REFERENCES jobs,
        key text NOT NULL,
        type text NOT NULL,
        severity text NOT NULL,
        epoch integer,
        message text NOT NULL,
        at timestamptz NOT NULL,
        CONSTRAINT job_events_key UNIQUE (job_id, key)
      );
      CREATE INDEX job_events_of_job ON job_events (job_id, id);

      CREATE TABLE checkpoints (
        cluster_id uuid NOT NULL REFERENCES clusters,
        uid text NOT NULL,
        namespace text NOT NULL,
        name text NOT NULL,
        job_uid text NOT NULL,
        spec jsonb NOT NULL,
        state text NOT NULL,
        message text,
        resource_version numeric NOT NULL,
        created_at timestamptz NOT NULL,
        deleted_at timestamptz,
        PRIMARY KEY (cluster_id, uid)
      );
      CREATE INDEX checkpoints_of_job ON checkpoints (cluster_id, job_uid);
      CREATE INDEX checkpoints_live_name ON checkpoints (cluster_id, namespace, name) WHERE deleted_at IS NULL;

      CREATE TABLE placements (
        cluster_id uuid NOT NULL REFERENCES clusters,
        uid text NOT NULL,
        namespace text NOT NULL,
        name text NOT NULL,
        job_uid text NOT NULL,
        epoch integer NOT NULL,
        spec jsonb NOT NULL,
        resource_version numeric NOT NULL,
        deleted_at timestamptz,
        PRIMARY KEY (cluster_id, uid)
      );
      CREATE INDEX placements_of_job ON placements (cluster_id, job_uid, epoch);
      CREATE INDEX placements_live_name ON placements (cluster_id, namespace, name) WHERE deleted_at IS NULL;

      CREATE TABLE nodes (
        cluster_id uuid NOT NULL REFERENCES clusters,
        uid text NOT NULL,
        name text NOT NULL,
        labels jsonb NOT NULL,
        resource_version numeric NOT NULL,
        deleted_at timestamptz,
        PRIMARY KEY (cluster_id, uid)
      );
      CREATE INDEX nodes_by_name ON nodes (cluster_id, name);

      CREATE SEQUENCE step_changes;
      CREATE TABLE steps (
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_uid text NOT NULL,
        epoch integer NOT NULL,
        step bigint NOT NULL,
        loss double precision,
        tokens bigint,
        step_time_ms double precision NOT NULL,
        grad_norm double precision,
        learning_rate double precision,
        at timestamptz NOT NULL,
        change bigint NOT NULL DEFAULT nextval('step_changes'),
        PRIMARY KEY (cluster_id, job_uid, epoch, step)
      );
      CREATE INDEX steps_by_change ON steps (cluster_id, job_uid, change);

      CREATE TABLE rank_steps (
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_uid text NOT NULL,
        rank integer NOT NULL,
        epoch integer NOT NULL,
        step bigint NOT NULL,
        step_time_ms double precision NOT NULL,
        timings_ms jsonb NOT NULL,
        at timestamptz NOT NULL,
        PRIMARY KEY (cluster_id, job_uid, rank)
      );

      CREATE TABLE series_gaps (
        id bigserial PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        boot_id text NOT NULL,
        missed_frames bigint,
        at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX series_gaps_by_time ON series_gaps (cluster_id, at);

      CREATE TABLE audit (
        id bigserial PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now(),
        principal uuid NOT NULL,
        principal_name text NOT NULL,
        project_id uuid,
        action text NOT NULL,
        target text NOT NULL,
        detail jsonb NOT NULL DEFAULT '{}'
      );
      CREATE INDEX audit_by_time ON audit (at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE audit, series_gaps, rank_steps, steps, nodes, placements, checkpoints, job_events, idempotency_keys, outbox, layouts,
        attempts, jobs, api_tokens, project_namespaces, projects, clusters, settings;
      DROP SEQUENCE step_changes;
    `);
  }
}
