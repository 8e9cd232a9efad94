import { type RoleFacts, roleProblem } from './role-problem.ts';

const aRole = (overrides: Partial<RoleFacts> = {}): RoleFacts => ({
  name: 'coxswain_runtime',
  isSuperuser: false,
  bypassesPolicies: false,
  owned: null,
  isSystem: false,
  seesNothing: false,
  ...overrides,
});

describe('the role that serves requests', () => {
  it.each<[string, Partial<RoleFacts>, RegExp | undefined]>([
    ['is bound by policies when it only uses the tables', {}, undefined],
    ['must not be a superuser', { isSuperuser: true, owned: 'the table jobs', isSystem: true }, /^is a superuser/],
    ['must not pass policies by', { bypassesPolicies: true }, /^has BYPASSRLS/],
    ['must not be the one that sees every project', { isSystem: true }, /^is the role of the system/],
    ['must not own a table', { owned: 'the table jobs' }, /^owns the table jobs \(or is a member of its owner\)/],
  ])('%s', (_sentence, facts, want) => {
    const problem = roleProblem(aRole(facts));
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(want);
  });
});
