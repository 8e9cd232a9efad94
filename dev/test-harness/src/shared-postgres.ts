import { createDatabaseAt, type Postgres } from '@coxswain/local-cluster';

/** Holds the URL of the PostgreSQL server that all test files of a run share, as superuser. The test runner sets it. */
export const SHARED_POSTGRES_VARIABLE = 'COXSWAIN_TEST_POSTGRES_URL';

/** A server that other test files use at the same time: no file may stop it, and each makes databases of its own. */
export type SharedPostgres = Pick<Postgres, 'url' | 'createDatabase'>;

/** The server of this run. Throws an Error if the test runner did not start one. */
export function sharedPostgres(): SharedPostgres {
  const url = process.env[SHARED_POSTGRES_VARIABLE];
  if (url === undefined) {
    throw new Error(`${SHARED_POSTGRES_VARIABLE} is not set; run the file with "npm test -- --integration PATH"`);
  }
  return { url, createDatabase: (prefix, options) => createDatabaseAt(url, prefix, options) };
}
