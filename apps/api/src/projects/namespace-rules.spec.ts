import { namespaceProblem } from './namespace-rules.ts';

describe('a namespace', () => {
  it.each<[string, string, readonly string[], RegExp | undefined]>([
    ['of people may be a project’s', 'research', [], undefined],
    ['default may be a project’s', 'default', [], undefined],
    ['kube-system may not', 'kube-system', [], /belongs to Kubernetes/],
    ['kube-system may not, whatever is allowed', 'kube-system', ['*'], /belongs to Kubernetes/],
    ['of Coxswain itself may not', 'coxswain-system', ['*'], /Coxswain itself runs there/],
    ['that is named may be', 'research', ['vision', 'research'], undefined],
    ['that a pattern covers may be', 'team-a', ['team-*'], undefined],
    ['that a pattern with several stars covers may be', 'team-a-train-1', ['team-*-train-*'], undefined],
    ['that a pattern covers in part may not', 'team-a', ['team-*-train'], /allows team-\*-train/],
    ['may not match one piece with the same letters twice', 'aba', ['ab*ba'], /allows/],
    [
      'outside of what is allowed may not, and is told where that stands',
      'other',
      ['team-*'],
      /api\.projectNamespaces/,
    ],
  ])('%s', (_what, name, allowed, want) => {
    const problem = namespaceProblem(name, { own: 'coxswain-system', allowed });
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(want);
  });
});
