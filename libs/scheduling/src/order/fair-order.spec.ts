import { fairOrder } from './fair-order.ts';

describe('jobs that wait', () => {
  const job = (name: string, namespace: string, since: string, isOneNode = false) => ({
    name,
    namespace,
    since,
    isOneNode,
  });
  type Jobs = readonly ReturnType<typeof job>[];
  it.each<[string, Jobs, readonly string[], Readonly<Record<string, number>>?]>([
    ['are none', [], []],
    [
      'of one namespace go in the order of waiting',
      [job('b', 'x', '2026-01-02'), job('a', 'x', '2026-01-01')],
      ['a', 'b'],
    ],
    [
      'of two namespaces take turns, however many one of them has',
      [
        ...[1, 2, 3].map((day) => job(`big-${day}`, 'big', `2026-01-0${day}`)),
        job('small-1', 'small', '2026-02-01'),
        job('small-2', 'small', '2026-02-02'),
      ],
      ['big-1', 'small-1', 'big-2', 'small-2', 'big-3'],
    ],
    [
      'on one node come before larger ones of their namespace, and wait for the turns of other namespaces',
      [
        job('gang-x', 'x', '2026-01-01'),
        job('one-x1', 'x', '2026-01-03', true),
        job('one-x2', 'x', '2026-01-04', true),
        job('gang-y', 'y', '2026-01-02'),
      ],
      ['one-x1', 'gang-y', 'one-x2', 'gang-x'],
    ],
    [
      'begin with the namespace that was served longest ago, whoever has waited longest',
      [job('a', 'x', '2026-01-01'), job('b', 'y', '2026-01-02'), job('c', 'z', '2026-01-03')],
      ['c', 'b', 'a'],
      { x: 2, y: 1 },
    ],
  ])('%s', (_sentence, jobs, want, servedAs = {}) => {
    expect(fairOrder(jobs, (namespace) => servedAs[namespace] ?? 0).map(({ name }) => name)).toEqual(want);
  });
});
