import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Jobs are found by labels, by who made them, by words of their names, and read in several orders. Under row-level security only leakproof operators use
 * an index, so labels and words stand in tables of their own. Triggers keep them, for an older API beside this one too; rows of jobs are never deleted, and
 * nobody else writes there, so that no foreign key is needed.
 *
 * `labels` repeats the resource; `desired_labels` is a change on its way there, null where one is to go. A word of a name is the rest of it from there on:
 * `tiny-gpt-3` has `tiny-gpt-3`, `gpt-3` and `3`. Resources that were mirrored before are looked at once more, for their labels: their rows know one version less.
 */
export class FindJobs1795391400000 implements MigrationInterface {
  readonly name = 'FindJobs1795391400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs ADD COLUMN labels jsonb NOT NULL DEFAULT '{}', ADD COLUMN desired_labels jsonb, ADD COLUMN owner text;
      UPDATE jobs SET owner = p.name FROM principals p WHERE p.id = submitted_by;
      UPDATE jobs SET resource_version = resource_version - 1 WHERE uid IS NOT NULL AND deleted_at IS NULL;

      CREATE TABLE job_labels (
        cluster_id uuid NOT NULL,
        project_id uuid,
        job_id uuid NOT NULL,
        key text COLLATE "C" NOT NULL,
        value text COLLATE "C" NOT NULL,
        PRIMARY KEY (cluster_id, job_id, key)
      );
      CREATE INDEX job_labels_of_project ON job_labels (project_id, key, value, job_id);

      CREATE TABLE job_name_words (
        cluster_id uuid NOT NULL,
        project_id uuid,
        job_id uuid NOT NULL,
        word text COLLATE "C" NOT NULL,
        PRIMARY KEY (cluster_id, job_id, word)
      );
      CREATE INDEX job_name_words_of_project ON job_name_words (project_id, word, job_id);

      CREATE FUNCTION index_labels_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'UPDATE' THEN
          DELETE FROM job_labels WHERE cluster_id = NEW.cluster_id AND job_id = NEW.id;
        END IF;
        INSERT INTO job_labels (cluster_id, project_id, job_id, key, value)
          SELECT NEW.cluster_id, NEW.project_id, NEW.id, key, value
            FROM jsonb_each_text(jsonb_strip_nulls(NEW.labels || coalesce(NEW.desired_labels, '{}')));
        RETURN NULL;
      END $$;
      CREATE TRIGGER job_made_with_labels AFTER INSERT ON jobs
        FOR EACH ROW WHEN (NEW.labels <> '{}') EXECUTE FUNCTION index_labels_of_job();
      CREATE TRIGGER job_labels_changed AFTER UPDATE ON jobs
        FOR EACH ROW WHEN (OLD.labels IS DISTINCT FROM NEW.labels OR OLD.desired_labels IS DISTINCT FROM NEW.desired_labels
                           OR OLD.project_id IS DISTINCT FROM NEW.project_id)
        EXECUTE FUNCTION index_labels_of_job();

      CREATE FUNCTION index_name_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'UPDATE' THEN
          DELETE FROM job_name_words WHERE cluster_id = NEW.cluster_id AND job_id = NEW.id;
        END IF;
        INSERT INTO job_name_words (cluster_id, project_id, job_id, word)
          SELECT DISTINCT NEW.cluster_id, NEW.project_id, NEW.id, substr(NEW.name, start)
            FROM generate_series(1, length(NEW.name)) AS start
           WHERE start = 1 OR (substr(NEW.name, start - 1, 1) IN ('-', '.') AND substr(NEW.name, start, 1) NOT IN ('-', '.'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER job_made_with_name AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION index_name_of_job();
      CREATE TRIGGER job_name_moved AFTER UPDATE ON jobs
        FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id) EXECUTE FUNCTION index_name_of_job();
      INSERT INTO job_name_words (cluster_id, project_id, job_id, word)
        SELECT DISTINCT cluster_id, project_id, id, substr(name, start)
          FROM jobs CROSS JOIN LATERAL generate_series(1, length(name)) AS start
         WHERE start = 1 OR (substr(name, start - 1, 1) IN ('-', '.') AND substr(name, start, 1) NOT IN ('-', '.'));

      CREATE INDEX jobs_by_creation ON jobs (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
      CREATE INDEX jobs_by_end ON jobs (project_id, finished_at DESC, id DESC) WHERE deleted_at IS NULL AND finished_at IS NOT NULL;
      CREATE INDEX jobs_by_name ON jobs (project_id, name COLLATE "C", id) WHERE deleted_at IS NULL;
      CREATE INDEX jobs_by_owner ON jobs (project_id, owner, created_at DESC, id DESC) WHERE deleted_at IS NULL;
      CREATE INDEX jobs_by_state ON jobs (project_id, state, created_at DESC, id DESC);
      DROP INDEX jobs_of_project;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX jobs_of_project ON jobs (project_id, created_at DESC, id DESC);
      DROP INDEX jobs_by_creation, jobs_by_end, jobs_by_name, jobs_by_owner, jobs_by_state;
      DROP TRIGGER job_made_with_labels ON jobs;
      DROP TRIGGER job_labels_changed ON jobs;
      DROP TRIGGER job_made_with_name ON jobs;
      DROP TRIGGER job_name_moved ON jobs;
      DROP FUNCTION index_labels_of_job();
      DROP FUNCTION index_name_of_job();
      DROP TABLE job_labels, job_name_words;
      ALTER TABLE jobs DROP COLUMN labels, DROP COLUMN desired_labels, DROP COLUMN owner;
    `);
  }
}
