import { DatabaseError, type LoginRole } from '@coxswain/persistence';
import { type RolesContext, runRolesCommand } from './database-roles-command.ts';

const ADMIN = 'postgresql://postgres@db/coxswain';

async function run(argv: readonly string[], overrides: Partial<RolesContext> = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const asked: { prefix: string; suffix: string | undefined }[] = [];
  const code = await runRolesCommand(argv, {
    adminUrl: ADMIN,
    makeRoles: ({ prefix, suffix, passwordOf }) => {
      asked.push({ prefix, suffix });
      const url = (role: LoginRole): string => `postgresql://${prefix}_${role}:${passwordOf(role)}@db/coxswain`;
      const urls = { runtime: url('runtime'), system: url('system'), queue: url('queue'), migrator: url('migrator') };
      return Promise.resolve({ urls, formerOwners: ['legacy'] });
    },
    print: (line) => void out.push(line),
    printError: (line) => void err.push(line),
    ...overrides,
  });
  return { code, out, err, asked };
}

describe('the command that makes roles', () => {
  it('prints the keys of the Secret and nothing else, each with a password of its own', async () => {
    const { code, out } = await run([]);
    expect(code).toBe(0);
    const lines = out.map(
      (line) => /^([a-z-]+)=postgresql:\/\/(coxswain_[a-z]+):([0-9a-f]{48})@db\/coxswain$/.exec(line) ?? [],
    );
    expect(lines.map(([, key, role]) => [key, role])).toEqual([
      ['url', 'coxswain_runtime'],
      ['system-url', 'coxswain_system'],
      ['queue-url', 'coxswain_queue'],
      ['migrator-url', 'coxswain_migrator'],
    ]);
    expect(new Set(lines.map(([, , , password]) => password)).size).toBe(4);
  });

  it('says whom it took the tables from, and what to do about it', async () => {
    expect((await run([])).err).toEqual([
      expect.stringMatching(/"legacy" owned the tables.*REVOKE "coxswain_owner" FROM "legacy"/),
    ]);
  });

  it('takes names of its own for a server that others share', async () => {
    expect((await run(['--prefix', 'team_a', '--suffix', '_b'])).asked).toEqual([{ prefix: 'team_a', suffix: '_b' }]);
  });

  it.each<[string, readonly string[], Partial<RolesContext>, RegExp]>([
    ['no URL', [], { adminUrl: undefined }, /set COXSWAIN_ADMIN_DATABASE_URL/],
    ['an option that there is not', ['--wipe'], {}, /wipe/],
    [
      'too few rights',
      [],
      {
        makeRoles: () =>
          Promise.reject(new DatabaseError({ code: '42501', message: 'permission denied to create role' })),
      },
      /permission denied to create role: use a superuser, or a role with CREATEROLE/,
    ],
  ])('refuses %s with a sentence', async (_what, argv, overrides, want) => {
    const { code, out, err } = await run(argv, overrides);
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err.join()).toMatch(want);
  });
});
