import { ACTIONS, allows, ROLE_ACTIONS } from './roles.ts';

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
