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
    const problem = namespaceProblem(name, { own: 'coxswain-system', allowed, confinedTo: [] });
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(want);
  });

  it.each<[string, string, RegExp | undefined]>([
    ['in the list may be a project’s', 'research', undefined],
    [
      'outside of the list may not, and the problem names the list',
      'other',
      /may only use research, vision \(.*api\.namespaces/,
    ],
    ['of Kubernetes may not, even in the list', 'kube-system', /belongs to Kubernetes/],
  ])('%s, if the API is confined to namespaces', (_what, name, want) => {
    const confinedTo = ['research', 'vision', 'kube-system'].filter((one) => one === name || !one.startsWith('kube-'));
    const problem = namespaceProblem(name, { own: 'coxswain-system', allowed: ['*'], confinedTo });
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(want);
  });
});
