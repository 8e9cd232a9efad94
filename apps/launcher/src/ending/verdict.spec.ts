import type { CheckpointFault } from '@coxswain/api-types';
import {
  type RankExit,
  type Verdict,
  checkpointVerdict,
  codeOf,
  failedVerdict,
  isFailure,
  canRestartInPlace,
  orderlyVerdict,
  plainVerdict,
  withCheckpointFault,
} from './verdict.ts';

const code = (value: number): RankExit => ({ kind: 'code', code: value });
const SIGKILLED: RankExit = { kind: 'signal', signal: 'SIGKILL' };

describe('how a rank ended', () => {
  it.each<[RankExit, number, boolean]>([
    [code(0), 0, false],
    [code(75), 75, false],
    [code(1), 1, true],
    [code(93), 93, true],
    [SIGKILLED, 137, true],
    [{ kind: 'signal', signal: 'SIGTERM' }, 143, true],
  ])('%j has the code %s and ends the gang: %s', (exit, wantCode, endsGang) => {
    expect([codeOf(exit), isFailure(exit)]).toEqual([wantCode, endsGang]);
  });
});

describe('the verdict on a rank that failed', () => {
  it.each<[string, RankExit, Record<string, unknown>]>([
    ['any code', code(9), { kind: 'engineFailed', exitCode: 9 }],
    ['the code for a lost port', code(71), { kind: 'rendezvousPortLost', exitCode: 71 }],
    ['the code for no restart', code(93), { kind: 'doNotRestart', exitCode: 93 }],
    ['the launcher’s own code, which only a launcher may claim', code(70), { kind: 'engineFailed', exitCode: 70 }],
    ['the code of a refused epoch, which only a launcher may claim', code(73), { kind: 'engineFailed', exitCode: 73 }],
    ['a signal', SIGKILLED, { kind: 'engineFailed', exitCode: 137, signal: 'SIGKILL' }],
  ])('with %s', (_what, exit, want) => {
    const verdict = failedVerdict(3, exit, 'node-b');
    expect(verdict).toMatchObject({ ...want, rank: 3 });
    expect(verdict.message).toMatch(/^rank 3 on node node-b /);
    expect('signal' in verdict).toBe('signal' in want);
  });
});

it.each<[string, readonly RankExit[], Record<string, unknown>]>([
  ['finished', [code(0), code(0)], { kind: 'finished', exitCode: 0 }],
  ['stopped, when one of them stopped', [code(0), code(75)], { kind: 'stopped', exitCode: 75 }],
])('ranks that ended in good order have %s', (_what, exits, want) => {
  expect(orderlyVerdict(exits)).toMatchObject(want);
});

describe('what keeps a checkpoint from being loaded', () => {
  const differs: CheckpointFault = { kind: 'ContentDiffers', path: '/c/a', expected: '8 bytes', found: '7 bytes' };
  const unreadable: CheckpointFault = { kind: 'FileUnreadable', path: '/c/a', errno: 'EIO' };
  const broken: CheckpointFault = { kind: 'MountBroken', path: '/c/a', errno: 'ESTALE' };

  it.each([
    [differs, 72, 'checkpointUnreadable'],
    [unreadable, 74, 'checkpointIoError'],
    [broken, 74, 'checkpointIoError'],
    [undefined, 72, 'checkpointUnreadable'],
  ] as const)('seen by the launcher itself: %j ends it with %d', (fault, exitCode, kind) => {
    expect(checkpointVerdict('why', fault)).toEqual({
      kind,
      exitCode,
      message: 'why',
      ...(fault === undefined ? {} : { checkpointFault: fault }),
    });
  });

  it.each([
    ['goes with the code for content', 72, differs, differs],
    ['goes with the code for reading', 74, unreadable, unreadable],
    ['does not go with the other code', 74, differs, undefined],
    ['does not go with any other end', 1, differs, undefined],
    ['is not known where the rank told nothing', 72, undefined, undefined],
  ])('told by a rank %s', (_sentence, exit, reported, want) => {
    const verdict = failedVerdict(3, code(exit), 'node-b');
    expect(withCheckpointFault(verdict, reported).checkpointFault).toEqual(want);
  });
});

describe('other ranks in the same pod', () => {
  const failed = failedVerdict(3, code(1), 'node-b');
  const ordered: Verdict = { ...plainVerdict('stopped', 'another incarnation begins'), isOrdered: true };

  it.each<[string, Verdict, 'wait' | undefined, boolean]>([
    ['are started where an engine failed and the operator may start them', failed, 'wait', true],
    ['are not where it may not', failed, undefined, false],
    ['are not where another start would not help', failedVerdict(3, code(93), 'node-b'), 'wait', false],
    ['are started where these were ended by order', ordered, undefined, true],
    ['are not beside a process that does not end', { ...failed, leavesProcesses: true }, 'wait', false],
    ['are not beside one either where these were ended by order', { ...ordered, leavesProcesses: true }, 'wait', false],
  ])('%s', (_sentence, verdict, onFailure, want) => {
    expect(canRestartInPlace(verdict, onFailure === undefined ? {} : { onFailure })).toBe(want);
  });
});
