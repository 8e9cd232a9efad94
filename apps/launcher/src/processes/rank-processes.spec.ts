import { type ProcessStates, rankProcesses, type StartedProcess } from './rank-processes.ts';

/** PID: its parent, state, CPU time and program. */
const TABLE: Readonly<Record<number, readonly [number, string, number, string]>> = {
  1: [0, 'S', 900, 'coxswain-launch'],
  10: [1, 'S', 20, 'bash'],
  11: [10, 'R', 5_000, 'python3'],
  20: [1, 'S', 20, 'bash'],
  21: [20, 'T', 300, 'python3'],
  30: [1, 'D', 700, 'python3'],
};

const states: ProcessStates = {
  ids: () => Object.keys(TABLE).map(Number),
  parentOf: (pid) => TABLE[pid]?.[0] ?? 0,
  stateOf: (pid) => TABLE[pid]?.[1],
  cpuMsOf: (pid) => TABLE[pid]?.[2] ?? 0,
  programOf: (pid) => TABLE[pid]?.[3],
};

const started = (rank: number, pid: number | undefined, changes: Partial<StartedProcess> = {}): StartedProcess => ({
  ranks: [rank],
  pid,
  hasEnded: false,
  exit: undefined,
  finishedRanks: changes.exit?.kind === 'code' && changes.exit.code === 0 ? [rank] : [],
  rankPids: new Map(),
  wroteAtMs: 1_000,
  ...changes,
});

const ended = (code: number): Partial<StartedProcess> => ({ hasEnded: true, exit: { kind: 'code', code } });

describe('the processes of a rank', () => {
  it.each<[string, StartedProcess, readonly unknown[]]>([
    [
      'count together, and the busiest names the program',
      started(0, 10),
      [{ rank: 0, state: 'running', cpuMs: 5_020, quietMs: 4_000, program: 'python3' }],
    ],
    [
      'are stopped if the program below a shell is',
      started(1, 20),
      [{ rank: 1, state: 'stopped', cpuMs: 320, quietMs: 4_000, program: 'python3' }],
    ],
    [
      'wait in the kernel',
      started(2, 30),
      [{ rank: 2, state: 'waiting', cpuMs: 700, quietMs: 4_000, program: 'python3' }],
    ],
    ['have finished', started(3, 40, ended(0)), [{ rank: 3, state: 'finished', cpuMs: 0, quietMs: 0 }]],
    ['that failed are no entry: the pod reports that itself', started(4, 41, ended(1)), []],
    ['that were never started are no entry', started(5, undefined), []],
  ])('%s', (_sentence, one, want) => {
    expect(rankProcesses([one], 5_000, states)).toEqual(want);
  });

  it('of a starter are each rank’s own once they were seen, and one that exited with 0 has finished', () => {
    const starter = started(0, 10, {
      ranks: [0, 1, 2, 3],
      finishedRanks: [2],
      rankPids: new Map([
        [0, 11],
        [1, 20],
        [2, 99],
      ]),
    });
    expect(rankProcesses([starter], 5_000, states)).toMatchObject([
      { rank: 0, state: 'running', cpuMs: 5_000 },
      { rank: 1, state: 'stopped', cpuMs: 320 },
      { rank: 3, state: 'running', cpuMs: 5_020 },
      { rank: 2, state: 'finished' },
    ]);
  });

  it('are those of this machine', () => {
    const [own] = rankProcesses([started(0, process.pid)], performance.now());
    expect(own?.cpuMs).toBeGreaterThan(0);
    expect(own?.program).toBeTruthy();
  });
});
