import { readFileSync } from 'node:fs';
import { ROLES } from '@coxswain/api-types';
import { ACTIONS, allows, ROLE_ACTIONS } from './roles.ts';

/** Rows of the table in docs/reference/people.md: an action, and a mark under each role that may. */
const documented = readFileSync(new URL('../../../../docs/reference/people.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => /^\| `[a-z]+\.[A-Za-z]+`/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, action = '', , ...marks]) => ({
    action: action.replaceAll('`', ''),
    roles: ROLES.filter((_role, index) => marks[index] === 'yes'),
  }));

describe('a role', () => {
  it.each(ACTIONS)('that may %s is one of those that the documented table says', (action) => {
    const row = documented.find((one) => one.action === action);
    expect(row?.roles).toEqual(ROLES.filter((role) => allows(role, action)));
  });

  it('has no action in the table that there is not, and none twice', () => {
    expect(documented.map(({ action }) => action)).toEqual([...ACTIONS]);
    for (const role of ROLES) expect(new Set(ROLE_ACTIONS[role]).size).toBe(ROLE_ACTIONS[role].length);
  });

  it('may all that the role before it may', () => {
    const grows = ROLES.slice(1).every((role, index) =>
      ROLE_ACTIONS[ROLES[index] ?? 'viewer'].every((action) => allows(role, action)),
    );
    expect(grows).toBe(true);
  });

  it.each([
    ['viewer', 'job.submit', false],
    ['submitter', 'job.changeOwn', true],
    ['submitter', 'job.changeAny', false],
    ['operator', 'job.changeAny', true],
    ['operator', 'token.write', false],
    ['admin', 'project.create', false],
  ] as const)('%s, asked for %s: %s', (role, action, want) => {
    expect(allows(role, action)).toBe(want);
  });
});
