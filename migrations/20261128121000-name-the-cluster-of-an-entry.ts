import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The release before joins `outbox` with `jobs` and names `cluster_id` without its table. A column of that name in `outbox` makes its statement ambiguous, so
 * its worker would apply no entry, beside this release or after a rollback. Therefore the column has a name that no other table has.
 */
export class NameTheClusterOfAnEntry1795867800000 implements MigrationInterface {
  readonly name = 'NameTheClusterOfAnEntry1795867800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox RENAME COLUMN cluster_id TO entry_cluster_id');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox RENAME COLUMN entry_cluster_id TO cluster_id');
  }
}
