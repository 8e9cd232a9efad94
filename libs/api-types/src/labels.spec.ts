import { JobLabelChange, JobLabels, MAX_LABELS } from './labels.ts';

describe('labels of a job', () => {
  it.each<[string, object]>([
    ['none', {}],
    ['a name and a value', { team: 'vision' }],
    ['an empty value', { team: '' }],
    ['a prefix', { 'example.com/team': 'Vision_2.1' }],
    ['a name of 63', { ['a'.repeat(63)]: 'a'.repeat(63) }],
    ['a prefix that only looks like a reserved one', { 'notkubernetes.io/x': 'y' }],
  ])('may be %s', (_what, labels) => {
    expect(JobLabels.parse(labels)).toEqual(labels);
  });

  it.each<[string, object, RegExp]>([
    ['an empty name', { '': 'x' }, /name of a label key/],
    ['a name of 64', { ['a'.repeat(64)]: 'x' }, /name of a label key/],
    ['a name that ends with "-"', { 'a-': 'x' }, /name of a label key/],
    ['two slashes', { 'a/b/c': 'x' }, /label key/],
    ['an empty prefix', { '/a': 'x' }, /prefix of a label key/],
    ['a value of 64', { a: 'x'.repeat(64) }, /a label value/],
    ['a value with a space', { a: 'x y' }, /a label value/],
    ['a prefix of Kubernetes', { 'app.kubernetes.io/name': 'x' }, /written by Kubernetes/],
    ['a prefix of its tools', { 'k8s.io/name': 'x' }, /written by Kubernetes/],
    ['a prefix of ours', { 'training.coxswain.dev/job-id': 'x' }, /written by Kubernetes and by Coxswain/],
    [
      'too many',
      Object.fromEntries(Array.from({ length: MAX_LABELS + 1 }, (_, index) => [`l${index}`, ''])),
      /at most 64 labels/,
    ],
  ])('may not be %s', (_what, labels, want) => {
    const { error } = JobLabels.safeParse(labels);
    expect(error?.issues.map(({ message }) => message).join()).toMatch(want);
  });

  it('are removed by null, and only by a change', () => {
    expect(JobLabelChange.parse({ team: null, stage: 'new' })).toEqual({ team: null, stage: 'new' });
    expect(JobLabels.safeParse({ team: null }).success).toBe(false);
  });
});
