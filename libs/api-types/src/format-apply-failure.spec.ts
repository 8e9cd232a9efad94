import type { ApplyFailure } from './rest.ts';
import { formatApplyFailure } from './format-apply-failure.ts';

const now = new Date('2026-01-01T00:05:00Z');
const failure: ApplyFailure = {
  message: 'The Kubernetes API server does not answer.',
  since: '2026-01-01T00:02:00Z',
  retryAt: '2026-01-01T00:05:12Z',
};

describe('why a change has not reached the cluster, on a screen', () => {
  it.each<[string, Partial<ApplyFailure>, RegExp]>([
    [
      'says for how long, and when it is tried again',
      {},
      /does not answer\. \(for 3 ?min.*; tried again in 12\.0 s\)$/,
    ],
    ['says that it is being tried', { retryAt: '2026-01-01T00:04:59Z' }, /\(for 3 ?min.*; being tried again\)$/],
    ['says that it is not tried again', { retryAt: null }, /\(3 ?min.* ago; not tried again\)$/],
  ])('%s', (_sentence, change, text) => {
    expect(formatApplyFailure({ ...failure, ...change }, now)).toMatch(text);
  });
});
