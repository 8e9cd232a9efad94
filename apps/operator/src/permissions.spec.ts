import {
  CLUSTER_RULES,
  DEFINITIONS_NAMESPACE_RULES,
  DEFINITIONS_RULES,
  LET_GO_NAMESPACE_RULES,
  LET_GO_RULES,
  NAMESPACE_RULES,
  RUNNING_JOBS_NAMESPACE_RULES,
  RUNNING_JOBS_RULES,
} from './permissions.ts';

describe('the operator', () => {
  const lease = { leaseName: 'coxswain-operator' };
  const ofSecrets = (rules: typeof CLUSTER_RULES): typeof CLUSTER_RULES =>
    rules.filter(({ resources }) => resources.some((one) => ['secrets', '*'].includes(one)));

  const HOOKS = [
    LET_GO_RULES,
    DEFINITIONS_RULES,
    DEFINITIONS_NAMESPACE_RULES,
    RUNNING_JOBS_RULES,
    RUNNING_JOBS_NAMESPACE_RULES,
  ].flat();

  it('reads no Secret of any job: only the one that it made for its own reports', () => {
    expect(ofSecrets([...CLUSTER_RULES, ...LET_GO_NAMESPACE_RULES(lease), ...HOOKS])).toEqual([]);
    const own = ofSecrets(NAMESPACE_RULES(lease)).filter(({ verbs }) => !verbs.every((verb) => verb === 'create'));
    expect(own.map(({ resourceNames }) => resourceNames)).toEqual([['coxswain-report-tls']]);
  });
});
