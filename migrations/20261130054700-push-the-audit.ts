import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Audit entries that a receiver outside of the cluster has not taken yet. A trigger queues them in the transaction that writes an entry, so that entries of an older
 * API and of commands beside the API are queued too. Nothing is queued before a cluster has a receiver. There is no foreign key to the audit: an entry that retention
 * removes before it was sent leaves its row here, which another trigger marks as dropped.
 */
export class PushTheAudit1796017620000 implements MigrationInterface {
  readonly name = 'PushTheAudit1796017620000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_receivers (
        cluster_id uuid PRIMARY KEY REFERENCES clusters,
        stream uuid NOT NULL DEFAULT gen_random_uuid(),
        is_enabled boolean NOT NULL,
        last_sequence bigint NOT NULL DEFAULT 0
      );
      CREATE TABLE audit_outbox (
        cluster_id uuid NOT NULL REFERENCES clusters,
        audit_id bigint NOT NULL,
        sequence bigint,
        queued_at timestamptz NOT NULL DEFAULT now(),
        refused_at timestamptz,
        dropped_at timestamptz,
        is_drop_counted boolean NOT NULL DEFAULT false,
        CONSTRAINT audit_outbox_pkey PRIMARY KEY (cluster_id, audit_id)
      );
      CREATE UNIQUE INDEX audit_outbox_in_order ON audit_outbox (cluster_id, sequence) WHERE sequence IS NOT NULL;
      CREATE INDEX audit_outbox_dropped ON audit_outbox (cluster_id) WHERE dropped_at IS NOT NULL AND NOT is_drop_counted;

      CREATE FUNCTION queue_audit_entries() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        INSERT INTO public.audit_outbox (cluster_id, audit_id)
        SELECT r.cluster_id, e.id FROM entries e
          JOIN public.audit_receivers r ON r.is_enabled AND (e.cluster_id IS NULL OR e.cluster_id = r.cluster_id);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_is_queued AFTER INSERT ON audit REFERENCING NEW TABLE AS entries
        FOR EACH STATEMENT EXECUTE FUNCTION queue_audit_entries();

      CREATE FUNCTION drop_audit_entries() RETURNS trigger
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        UPDATE public.audit_outbox o SET dropped_at = now()
          FROM removed e CROSS JOIN public.audit_receivers r
         WHERE o.cluster_id = r.cluster_id AND o.audit_id = e.id AND o.dropped_at IS NULL;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_is_dropped AFTER DELETE ON audit REFERENCING OLD TABLE AS removed
        FOR EACH STATEMENT EXECUTE FUNCTION drop_audit_entries();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER audit_is_dropped ON audit;
      DROP TRIGGER audit_is_queued ON audit;
      DROP FUNCTION drop_audit_entries, queue_audit_entries;
      DROP TABLE audit_outbox, audit_receivers;
    `);
  }
}
