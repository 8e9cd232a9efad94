import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How many jobs of a project have ended and are still in the cluster is counted whenever one is made, and records of jobs that are gone are looked for
 * once a minute, by project from the oldest (ADR 0047). A record goes only when the outbox holds nothing of it, which its foreign key looks up too. An
 * older API beside this one notices nothing.
 */
export class IndexWhatJobsLeaveBehind1795420800000 implements MigrationInterface {
  readonly name = 'IndexWhatJobsLeaveBehind1795420800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX jobs_ended_of_project ON jobs (project_id)
        WHERE finished_at IS NOT NULL AND deleted_at IS NULL AND state <> 'Refused';
      CREATE INDEX jobs_gone ON jobs (project_id, cluster_id, coalesce(deleted_at, finished_at) DESC, id DESC)
        WHERE deleted_at IS NOT NULL OR (state = 'Refused' AND uid IS NULL);
      CREATE INDEX outbox_of_job ON outbox (job_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX jobs_ended_of_project, jobs_gone, outbox_of_job');
  }
}
