import type { Database } from '@coxswain/persistence';
import type { SharedPostgres } from '@coxswain/test-harness';
import { createTestDatabase, migratedPostgres, type TestDatabase } from '../testing/test-database.ts';
import { CONSTRAINT_SENTENCES, UNREACHABLE_CONSTRAINTS } from './constraint-sentences.ts';

let postgres: SharedPostgres;
let there: TestDatabase;
let database: Database;

beforeAll(async () => {
  postgres = migratedPostgres();
  there = await createTestDatabase(postgres, 'constraints');
  ({ database } = there);
});

afterAll(async () => {
  await there?.close();
});

/**
 * Constraints and unique indexes of our tables, by name. Left out: NOT NULL, which the types hold; foreign keys, which have one sentence together; and
 * keys of one column that are made at random or counted, which nobody can meet.
 */
const CATALOGUE = `
  SELECT c.conname AS name, r.relname AS table
    FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
   WHERE r.relnamespace = 'public'::regnamespace AND r.relname <> 'migrations' AND NOT r.relispartition
     AND c.contype IN ('p', 'u', 'x', 'c')
     AND NOT (c.contype = 'p' AND cardinality(c.conkey) = 1 AND EXISTS (
           SELECT 1 FROM pg_attribute a WHERE a.attrelid = r.oid AND a.attnum = c.conkey[1]
              AND (a.atttypid = 'uuid'::regtype OR pg_get_serial_sequence(format('public.%I', r.relname), a.attname) IS NOT NULL)))
  UNION
  SELECT i.relname, r.relname
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class r ON r.oid = x.indrelid
   WHERE r.relnamespace = 'public'::regnamespace AND r.relname <> 'migrations' AND NOT r.relispartition AND x.indisunique
     AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = x.indexrelid)
   ORDER BY 2, 1`;

it('every constraint of the schema has a sentence for callers, or a reason why none can meet it', async () => {
  const { rows } = await database.query<{ name: string; table: string }>(CATALOGUE);
  expect(rows.length).toBeGreaterThanOrEqual(20);
  const known = [...Object.keys(CONSTRAINT_SENTENCES), ...Object.keys(UNREACHABLE_CONSTRAINTS)];
  expect(rows.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
  expect(known.filter((name) => !rows.some((row) => row.name === name))).toEqual([]);
  expect(new Set(known).size).toBe(known.length);
});
