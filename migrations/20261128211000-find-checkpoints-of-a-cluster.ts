import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The catalogue lists the newest checkpoints of a cluster, or of one job by its name. Releases before it use no index, and need none. */
export class FindCheckpointsOfACluster1795900200000 implements MigrationInterface {
  readonly name = 'FindCheckpointsOfACluster1795900200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX checkpoints_newest ON checkpoints (cluster_id, created_at DESC, uid DESC);
      CREATE INDEX checkpoints_of_job_name ON checkpoints (cluster_id, (spec->>'jobName'), created_at DESC, uid DESC);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX checkpoints_newest; DROP INDEX checkpoints_of_job_name');
  }
}
