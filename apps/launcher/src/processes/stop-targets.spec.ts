import { stopTargets, type ProcessTree } from './stop-targets.ts';

/** A tree in which process 1 is the rank's own. Each line: parent, pid, and whether it is a shell or handles SIGTERM. */
type Line = readonly [parent: number, pid: number, what?: 'shell' | 'handles' | 'trap'];

function treeOf(lines: readonly Line[]): ProcessTree {
  const isA = (pid: number, ...kinds: readonly string[]): boolean =>
    lines.some(([, own, what]) => own === pid && what !== undefined && kinds.includes(what));
  return {
    childrenOf: (pid) => lines.flatMap(([parent, own]) => (parent === pid ? [own] : [])),
    isShell: (pid) => isA(pid, 'shell', 'trap'),
    handlesStop: (pid) => isA(pid, 'handles', 'trap'),
  };
}

describe('SIGTERM goes', () => {
  it.each<[string, readonly Line[], readonly number[], readonly number[]]>([
    [
      'to a program that trains, and not to the workers of its data loader',
      [
        [0, 1, 'handles'],
        [1, 2, 'handles'],
      ],
      [],
      [1],
    ],
    [
      'to a program without a handler, which ends',
      [
        [0, 1],
        [1, 2, 'handles'],
      ],
      [],
      [1],
    ],
    [
      'past a shell to the program that it waits for',
      [
        [0, 1, 'shell'],
        [1, 2, 'handles'],
      ],
      [],
      [2],
    ],
    [
      'past a shell in a shell',
      [
        [0, 1, 'shell'],
        [1, 2, 'shell'],
        [2, 3, 'handles'],
      ],
      [],
      [3],
    ],
    [
      'past a shell to torchrun alone, which forwards it',
      [
        [0, 1, 'shell'],
        [1, 2, 'handles'],
        [2, 3, 'handles'],
      ],
      [],
      [2],
    ],
    [
      'to the worker that reports as the rank, and not to the torchrun above it',
      [
        [0, 1, 'shell'],
        [1, 2, 'handles'],
        [2, 3, 'handles'],
        [3, 4],
      ],
      [3],
      [3],
    ],
    [
      'in a pipeline to the program with a handler, because the reader of its output must live',
      [
        [0, 1, 'shell'],
        [1, 2, 'handles'],
        [1, 3],
      ],
      [],
      [2],
    ],
    [
      'past a shell with a trap if the program has a handler: the trap would send it again',
      [
        [0, 1, 'trap'],
        [1, 2, 'handles'],
      ],
      [],
      [2],
    ],
    [
      'to a shell with a trap if no program has a handler',
      [
        [0, 1, 'trap'],
        [1, 2],
      ],
      [],
      [1],
    ],
    [
      'to programs behind a shell if nothing has a handler',
      [
        [0, 1, 'shell'],
        [1, 2],
        [1, 3],
      ],
      [],
      [2, 3],
    ],
    ['to a shell between two commands', [[0, 1, 'shell']], [], [1]],
    ['not to a process of another rank that reports', [[0, 1, 'handles']], [7], [1]],
  ])('%s', (_sentence, lines, reporting, want) => {
    const { pids, areBelow } = stopTargets(1, reporting, treeOf(lines));
    expect([pids, areBelow]).toEqual([want, !want.includes(1)]);
  });

  it('with the number of processes that it ends at once', () => {
    expect(
      stopTargets(
        1,
        [],
        treeOf([
          [0, 1, 'shell'],
          [1, 2],
          [1, 3],
        ]),
      ).unhandled,
    ).toBe(2);
    expect(
      stopTargets(
        1,
        [],
        treeOf([
          [0, 1, 'shell'],
          [1, 2, 'handles'],
          [1, 3],
        ]),
      ).unhandled,
    ).toBe(0);
  });
});
