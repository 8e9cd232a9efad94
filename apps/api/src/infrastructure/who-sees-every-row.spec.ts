import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '..');

/** Who is given the database as the system sees it, and why; whatever else needs rows is given a TenantDatabase. */
const ALLOWED: Readonly<Record<string, string>> = {
  'admin.ts': 'administrators are made beside the API',
  'admin-command.ts': 'administrators are made beside the API',
  'auth/administrators.ts': 'administrators belong to no project',
  'auth/sessions.ts': 'before it is known who asks',
  'auth/group-readings.ts': 'before it is known who asks',
  'sign-in/sign-in.service.ts': 'before it is known who asks',
  'auth/auth.module.ts': 'gives it to those that look before it is known who asks',
  'app.module.ts': 'names the parts; gives it to no module',
  'start.ts': 'starts what goes on by itself',
  'infrastructure/databases.ts': 'opens it',
  'infrastructure/installation.ts': 'at the start, before anybody asks',
  'fabric/snapshot-retention.ts': 'goes on by itself',
  'fabric/snapshot-store.ts': 'records the fabric, which is of no project, for the recorder that goes on by itself',
  'http/key-expiry.ts': 'goes on by itself',
  'queue/queue-records.ts':
    'the order is over all projects; it reads no names, and answers name what a TenantDatabase finds',
  'outbox/': 'carries jobs to the cluster',
  'messages/': 'carries messages to endpoints',
  'projection/': 'mirrors the cluster',
  'records/': 'goes on by itself',
  'series/': 'stores series',
};

describe('the database that shows every row', () => {
  it('is given to nothing that answers requests', () => {
    const users = globSync('**/*.ts', { cwd: SOURCES })
      .filter((path) => !/\.(spec|itest)\.ts$|(^|\/)testing\//.test(path))
      .filter((path) => {
        const [, names = ''] =
          /import (?:type )?\{([^}]*)\} from '@coxswain\/persistence'/.exec(
            readFileSync(join(SOURCES, path), 'utf8'),
          ) ?? [];
        return names.split(',').some((name) => name.trim().replace(/^type /, '') === 'Database');
      });
    expect(
      users.filter(
        (path) =>
          !Object.keys(ALLOWED).some((place) => path === place || (place.endsWith('/') && path.startsWith(place))),
      ),
    ).toEqual([]);
    expect(users.length).toBeGreaterThan(5);
  });
});
