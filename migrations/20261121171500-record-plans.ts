import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the planner was asked and answered; what steps took beside what was predicted of them (the prediction stands in the attempt, where the
 * operator put it before the gang was made); and the wish to resume on a layout that the planner chooses.
 */
export class RecordPlans1795281300000 implements MigrationInterface {
  readonly name = 'RecordPlans1795281300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE plans (
        id uuid PRIMARY KEY,
        project_id uuid NOT NULL REFERENCES projects,
        request jsonb NOT NULL,
        answer jsonb NOT NULL,
        planner_version text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX plans_of_project ON plans (project_id, created_at DESC, id DESC);

      CREATE TABLE measured_step_times (
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_uid text NOT NULL,
        epoch integer NOT NULL,
        median_step_ms double precision NOT NULL,
        steps integer NOT NULL,
        measured_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (cluster_id, job_uid, epoch)
      );

      ALTER TABLE jobs ADD COLUMN desired_gpus integer;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs DROP COLUMN desired_gpus;
      DROP TABLE measured_step_times, plans;
    `);
  }
}
