import { DatabaseError, type LoginRole, type RolesMade } from '@coxswain/persistence';
import { readPrepareConfig } from './prepare-config.ts';
import { type Passwords, prepareDatabase, type PrepareDatabaseParts } from './prepare-database.ts';

/** A Secret, a database and what becomes of both. */
function anInstallation(more: Partial<PrepareDatabaseParts> = {}) {
  const done: string[] = [];
  const world = {
    secret: undefined as Passwords | undefined,
    published: undefined as RolesMade['urls'] | undefined,
    done,
  };
  const parts: PrepareDatabaseParts = {
    keep: (fresh) => {
      done.push('kept');
      return Promise.resolve((world.secret ??= fresh));
    },
    adminUrl: ({ admin }) => `postgresql://postgres:${admin}@db/coxswain`,
    makeRoles: ({ adminUrl, passwordOf }) => {
      done.push('made roles');
      const url = (role: LoginRole): string => `${new URL(adminUrl).host}/${role}/${passwordOf(role)}`;
      const urls = { runtime: url('runtime'), system: url('system'), queue: url('queue'), migrator: url('migrator') };
      return Promise.resolve({ urls, formerOwners: [] });
    },
    publish: (urls) => {
      done.push('published');
      world.published = urls;
      return Promise.resolve();
    },
    pause: (why) => {
      done.push(`waited: ${why}`);
      return Promise.resolve();
    },
    ...more,
  };
  return { world, run: () => prepareDatabase(parts) };
}

describe('preparing a database', () => {
  it('keeps passwords before it uses them, and gives the API no URL that is not good yet', async () => {
    const { world, run } = anInstallation();
    await run();
    expect(world.done).toEqual(['kept', 'made roles', 'published']);
    const passwords = Object.values(world.secret ?? {});
    expect(new Set(passwords).size).toBe(5);
    for (const password of passwords) expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(world.published?.runtime).toBe(`db/runtime/${world.secret?.runtime}`);
  });

  it('gives the same passwords each time', async () => {
    const { world, run } = anInstallation();
    await run();
    const first = world.published;
    await run();
    expect(world.published).toEqual(first);
  });

  it('waits for a database that does not take connections yet', async () => {
    let tries = 0;
    const waiting = anInstallation({
      makeRoles: () => {
        if (tries++ < 2) return Promise.reject(new DatabaseError({ code: 'ECONNREFUSED', message: 'refused' }));
        return Promise.resolve({ urls: {} as RolesMade['urls'], formerOwners: [] });
      },
    });
    await waiting.run();
    expect(waiting.world.done).toEqual(['kept', 'waited: refused', 'waited: refused', 'published']);
  });

  it('waits for a database that began with the password of a Secret that is gone, and says how to restart it', async () => {
    const { passwordRefused = '' } = readPrepareConfig(
      { COXSWAIN_NAMESPACE: 'training', COXSWAIN_EMBEDDED_DATABASE_HOST: 'db:5432' },
      () => '',
    );
    expect(passwordRefused).toContain('kubectl -n training rollout restart statefulset/coxswain-postgresql');
    let isRestarted = false;
    const waiting = anInstallation({
      passwordRefused,
      makeRoles: () => {
        if (isRestarted) return Promise.resolve({ urls: {} as RolesMade['urls'], formerOwners: [] });
        return Promise.reject(new DatabaseError({ code: '28P01', message: 'password authentication failed' }));
      },
      pause: (why) => {
        waiting.world.done.push(why);
        isRestarted = true;
        return Promise.resolve();
      },
    });
    await waiting.run();
    expect(waiting.world.done).toEqual(['kept', passwordRefused, 'published']);
  });

  it('does not wait for what no waiting mends', async () => {
    const wrong = new DatabaseError({ code: '28P01', message: 'password authentication failed' });
    await expect(anInstallation({ makeRoles: () => Promise.reject(wrong) }).run()).rejects.toThrow(/password/);
  });
});
