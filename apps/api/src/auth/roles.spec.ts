import { ACTIONS, allows, ROLE_ACTIONS } from './roles.ts';
import { freshToken, partsOfToken, secretMatches } from './token-format.ts';

describe('a role', () => {
  it.each([
    ['viewer', ['job.read', 'layout.read', 'plan.read', 'project.read']],
    ['operator', ['job.read', 'job.write', 'layout.read', 'layout.write', 'plan.read', 'plan.write', 'project.read']],
    [
      'admin',
      [
        'job.read',
        'job.write',
        'layout.read',
        'layout.write',
        'plan.read',
        'plan.write',
        'project.read',
        'token.read',
        'token.write',
      ],
    ],
    ['clusterAdmin', [...ACTIONS].sort()],
  ] as const)('%s allows exactly what the table says', (role, want) => {
    expect(ACTIONS.filter((action) => allows(role, action)).sort()).toEqual([...want]);
    expect(new Set(ROLE_ACTIONS[role]).size).toBe(ROLE_ACTIONS[role].length);
  });
});

describe('a token', () => {
  it('is believed by its secret alone, and never twice the same', () => {
    const [one, other] = [freshToken(), freshToken()];
    const secretOf = (token: string): string => partsOfToken(token)?.secret ?? '';
    expect(secretMatches(secretOf(one.token), one.secretSha256)).toBe(true);
    expect(secretMatches(secretOf(other.token), one.secretSha256)).toBe(false);
    expect(secretMatches('', one.secretSha256)).toBe(false);
  });

  it.each(['', 'cxs_', 'cxs_12345678_short', 'cxs_1234567g_' + 'A'.repeat(43), freshToken().token + 'A'])(
    'is none when it reads %j',
    (text) => {
      expect(partsOfToken(text)).toBeUndefined();
    },
  );
});
