import type { Attempt, CheckpointFaultOnNode, CheckpointResourceStatus } from '@coxswain/api-types';
import { standingsOf } from './checkpoint-standing.ts';
import { recordOf } from '../record/job-record.ts';
import { aJob, anAttempt, aStatus, NOW } from '../testing/jobs.ts';

const C40 = 'tiny-gpt-3f1c2b9e-e1-s40';
const PATH = '/coxswain/checkpoints/rank-0.bin';
const on = (node: string, kind: CheckpointFaultOnNode['kind'] = 'FileUnreadable'): CheckpointFaultOnNode => ({
  node,
  kind,
  path: PATH,
  ...(kind === 'ContentDiffers' ? { expected: '8 bytes', found: '7 bytes' } : { errno: 'EIO' }),
});
const tried = (epoch: number, faults: readonly CheckpointFaultOnNode[], more: Partial<Attempt> = {}): Attempt =>
  anAttempt({
    epoch,
    stage: 'Ended',
    outcome: 'Failed',
    reason: 'CheckpointIoError',
    charged: false,
    answer: 'Restart',
    resumedFrom: { checkpoint: C40, step: 40 },
    ...(faults.length === 0 ? {} : { checkpointFaults: [...faults] }),
    ...more,
  });
const standingBy = (attempts: readonly Attempt[], status?: CheckpointResourceStatus) =>
  standingsOf(recordOf(aJob({ status: aStatus({ attempts: [...attempts] }) })))(C40, status);

describe('a checkpoint is suspect', () => {
  const verified = tried(4, [], {
    resumedFrom: { checkpoint: 'tiny-gpt-3f1c2b9e-e1-s20', step: 20 },
    verifiedCheckpoint: C40,
  });
  const trained = tried(4, [], { reason: 'NodeLost', lastStep: 55 });
  const running = tried(4, [], {
    stage: 'Released',
    outcome: undefined,
    reason: undefined,
    firstStep: { step: 41, at: NOW.toISOString() },
  });
  const eio = (epoch: number, node: string) => ({ epoch, ...on(node) });
  const differs = (epoch: number, node: string) => ({ epoch, ...on(node, 'ContentDiffers') });
  const suspect = (...evidence: ReturnType<typeof eio>[]): CheckpointResourceStatus => ({
    state: 'Complete',
    suspect: { reason: 'Unreadable', evidence },
  });
  const damaged = (by: 'Content' | 'TwoNodes', evidence: ReturnType<typeof eio>[]): CheckpointResourceStatus => ({
    state: 'Damaged',
    condemnation: { by, evidence },
  });

  it.each<[string, readonly Attempt[], CheckpointResourceStatus | undefined, string]>([
    ['of which nothing was reported is usable', [], undefined, 'usable'],
    ['that one node cannot read is suspect', [tried(2, [on('node-a')])], undefined, 'suspect: Unreadable'],
    [
      'that two nodes cannot read, in two attempts, is passed over',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')])],
      undefined,
      'passed over: Unreadable',
    ],
    [
      'that one node cannot read in three attempts is passed over, because there may be no second node',
      [2, 3, 4].map((epoch) => tried(epoch, [on('node-a')])),
      undefined,
      'passed over: Unreadable',
    ],
    [
      'that one node finds changed, however often, is not passed over',
      [2, 3, 4].map((epoch) => tried(epoch, [on('node-a', 'ContentDiffers')])),
      undefined,
      'suspect: ContentDiffers',
    ],
    [
      'that two nodes of one attempt cannot read is not passed over yet',
      [tried(2, [on('node-a'), on('node-b')])],
      undefined,
      'suspect: Unreadable',
    ],
    [
      'that one node finds changed and another cannot read is passed over',
      [tried(2, [on('node-a', 'ContentDiffers')]), tried(3, [on('node-b')])],
      undefined,
      'passed over: ContentDiffers',
    ],
    [
      'on a claim that no node can read is never passed over',
      [2, 3, 4, 5].map((epoch) => tried(epoch, [on(`node-${epoch}`, 'MountBroken')])),
      undefined,
      'suspect: StorageUnavailable',
    ],
    [
      'that an engine refuses without a word on its content is suspect',
      [tried(2, [], { reason: 'CheckpointUnreadable' })],
      undefined,
      'suspect: EngineRefused',
    ],
    [
      'that a launcher verified again is usable',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')]), verified],
      undefined,
      'usable',
    ],
    [
      'that was verified, and cannot be read again, is suspect',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')]), verified, tried(5, [on('node-a')])],
      undefined,
      'suspect: Unreadable',
    ],
    [
      'that ranks trained from is usable',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')]), trained],
      undefined,
      'usable',
    ],
    [
      'that ranks train from at this moment is usable',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')]), running],
      undefined,
      'usable',
    ],
    [
      'is passed over by what its object keeps, when the attempts are forgotten',
      [],
      suspect(eio(2, 'node-a'), eio(3, 'node-b')),
      'passed over: Unreadable',
    ],
    [
      'is passed over by what its object keeps and one more finding',
      [tried(9, [on('node-b')])],
      suspect(eio(2, 'node-a')),
      'passed over: Unreadable',
    ],
    ['is usable, when its object keeps what was refuted', [trained], suspect(eio(2, 'node-a')), 'usable'],
    [
      'that an earlier release condemned for read errors is passed over only',
      [],
      damaged('TwoNodes', [eio(2, 'node-a'), eio(3, 'node-b')]),
      'passed over: Unreadable',
    ],
    [
      'that an earlier release condemned for read errors is usable once it verified',
      [verified],
      damaged('TwoNodes', [eio(2, 'node-a'), eio(3, 'node-b')]),
      'usable',
    ],
    [
      'that was condemned by its content stays damaged',
      [tried(1, [], { reason: 'NodeLost', lastStep: 55 })],
      damaged('Content', [differs(2, 'node-a'), differs(3, 'node-b')]),
      'damaged',
    ],
    [
      'that was condemned by its content, and that ranks trained from since, is usable',
      [trained],
      damaged('Content', [differs(2, 'node-a'), differs(3, 'node-b')]),
      'usable',
    ],
    [
      'that was condemned, and whose state a user corrected, is usable',
      [tried(4, [], { reason: 'NodeLost' })],
      { ...damaged('Content', [differs(2, 'node-a'), differs(3, 'node-b')]), state: 'Complete' },
      'usable',
    ],
    ['that somebody marked damaged stays so', [trained], { state: 'Damaged' }, 'damaged'],
  ])('%s', (_sentence, attempts, status, want) => {
    const standing = standingBy(attempts, status);
    const words = {
      usable: () => 'usable',
      damaged: () => 'damaged',
      suspect: () =>
        standing.kind === 'suspect'
          ? `${standing.isPassedOver ? 'passed over' : 'suspect'}: ${standing.suspicion.reason}`
          : '',
    };
    expect(words[standing.kind]()).toBe(want);
  });

  it('until a user names one that somebody marked damaged, and ranks train from it', () => {
    const resumeFrom = { from: C40, epoch: 4 };
    const job = aJob({ status: aStatus({ attempts: [trained], resumeFrom }) });
    expect(standingsOf(recordOf(job))(C40, { state: 'Damaged' }).kind).toBe('usable');
  });
});
