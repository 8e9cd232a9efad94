import {
  findCondition,
  type Attempt,
  type CheckpointFaultOnNode,
  type TerminationCause,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { describeCondemnation, standingsOf } from './checkpoint-standing.ts';
import { decide } from '../decide/decide.ts';
import { recordOf } from '../record/job-record.ts';
import type { Observed } from '../observation/observed.ts';
import { aCapacity, aCheckpoint, anExit, aNode, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, kinds, NOW, settled } from '../testing/jobs.ts';

const CHECKPOINT = { path: '', everySteps: 100 };
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
const aRunThatLoaded = {
  incarnation: 1,
  endedAt: NOW.toISOString(),
  reason: 'EngineFailed',
  message: '',
  charged: true,
  lastStep: 55,
  resumedFrom: { checkpoint: C40, step: 40 },
} as const;
const standingBy = (attempts: readonly Attempt[]) =>
  standingsOf(recordOf(aJob({ status: aStatus({ attempts: [...attempts] }) })))(C40);
const condemnationBy = (...attempts: readonly Attempt[]) => {
  const standing = standingBy(attempts);
  return standing.kind === 'damaged' ? standing.condemnation : undefined;
};

describe('a checkpoint is condemned', () => {
  it.each<[string, readonly Attempt[], 'Content' | 'TwoNodes' | undefined]>([
    [
      'by content that differs where two nodes say so, in one attempt or in two',
      [tried(2, [on('node-a', 'ContentDiffers'), on('node-b', 'ContentDiffers')])],
      'Content',
    ],
    [
      'also when the second one looks later',
      [tried(2, [on('node-a', 'ContentDiffers')]), tried(3, [on('node-b', 'ContentDiffers')])],
      'Content',
    ],
    [
      'not by content that one node reads wrong, however often',
      [2, 3, 4].map((epoch) => tried(epoch, [on('node-a', 'ContentDiffers')])),
      undefined,
    ],
    [
      'not by two nodes between whose looks it was loaded by an incarnation that was started again from another one',
      [
        tried(2, [on('node-a', 'ContentDiffers')]),
        tried(3, [], {
          reason: 'NodeLost',
          incarnation: 2,
          incarnations: [aRunThatLoaded],
          resumedFrom: { checkpoint: 'tiny-gpt-3f1c2b9e-e3-s50', step: 50 },
        }),
        tried(4, [on('node-b', 'ContentDiffers')]),
      ],
      undefined,
    ],
    [
      'by what was found after it was loaded by an incarnation of the same attempt',
      [
        tried(2, [on('node-a', 'ContentDiffers'), on('node-b', 'ContentDiffers')], {
          incarnation: 2,
          incarnations: [aRunThatLoaded],
        }),
      ],
      'Content',
    ],
    [
      'not by two nodes between whose looks it was loaded',
      [
        tried(2, [on('node-a', 'ContentDiffers')]),
        tried(3, [], { reason: 'NodeLost', lastStep: 55 }),
        tried(4, [on('node-b', 'ContentDiffers')]),
      ],
      undefined,
    ],
    [
      'not by two nodes that cannot read a file, in two attempts',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')])],
      undefined,
    ],
    [
      'not by one node that finds other content and one that cannot read it',
      [tried(2, [on('node-a', 'ContentDiffers')]), tried(3, [on('node-b')])],
      undefined,
    ],
    ['not by one node, however often', [tried(2, [on('node-a')]), tried(3, [on('node-a')])], undefined],
    [
      'not by two nodes in one attempt, which may have met one short trouble',
      [tried(2, [on('node-a'), on('node-b')])],
      undefined,
    ],
    [
      'not by mounts that do not work, however many',
      [2, 3, 4].map((epoch) => tried(epoch, [on(`node-${epoch}`, 'MountBroken')])),
      undefined,
    ],
    [
      'not by a mount and a file of two nodes',
      [tried(2, [on('node-a', 'MountBroken')]), tried(3, [on('node-b')])],
      undefined,
    ],
    [
      'not by an engine that refuses it without saying what differs',
      [2, 3].map((epoch) => tried(epoch, [], { reason: 'CheckpointUnreadable' })),
      undefined,
    ],
    [
      'not by what another checkpoint met',
      [tried(2, [on('node-a')]), tried(3, [on('node-b')], { resumedFrom: { checkpoint: 'other', step: 20 } })],
      undefined,
    ],
  ])('%s', (_sentence, attempts, by) => {
    expect(condemnationBy(...attempts)?.by).toBe(by);
  });

  it('with who saw what, and when', () => {
    const differs = [on('node-a', 'ContentDiffers'), on('node-b', 'ContentDiffers')] as const;
    const condemnation = condemnationBy(tried(2, [differs[0]]), tried(3, [differs[1]]));
    expect(condemnation?.evidence).toEqual([
      { epoch: 2, ...differs[0] },
      { epoch: 3, ...differs[1] },
    ]);
    expect(condemnation === undefined ? '' : describeCondemnation(condemnation)).toBe(
      `its content is not what was saved: attempt 2 on node-a: ${PATH} has 7 bytes, not 8 bytes; ` +
        `attempt 3 on node-b: ${PATH} has 7 bytes, not 8 bytes`,
    );
  });
});

describe('what a launcher met at the checkpoint', () => {
  const cause = (more: Partial<TerminationCause>): Partial<TerminationCause> => ({ epoch: 2, ...more });
  const { node: _, ...eio } = on('node-a');
  const { node: __, ...cutOff } = on('node-a', 'ContentDiffers');
  const ioError = anExit(
    { exitCode: 74 },
    cause({ kind: 'checkpointIoError', node: 'what-the-pod-says', checkpointFault: eio }),
  );
  const differs = anExit({ exitCode: 72 }, cause({ kind: 'checkpointUnreadable', checkpointFault: cutOff }));
  /** Epoch 2 resumed from step 40; its pods ended so. */
  const ended = (
    exits: readonly (ReturnType<typeof anExit> | undefined)[],
    status: Partial<TrainingJobStatus> = {},
  ): Observed => {
    const attempt = anAttempt({ epoch: 2, resumedFrom: { checkpoint: C40, step: 40 } });
    const job = aJob({ status: aStatus({ attempts: [attempt], ...status }) });
    return observe({
      job,
      placements: [aPlacement(job, { epoch: 2 })],
      checkpoints: [aCheckpoint(job), aCheckpoint(job, { spec: { step: 40 } })],
      pods: exits.map((exit, podIndex) =>
        aPod(job, { epoch: 2, podIndex, ...(exit === undefined ? {} : { phase: 'Failed', running: false, exit }) }),
      ),
    });
  };
  const last = (observed: Observed) => decide(observed, NOW).status.attempts?.at(-1);

  it.each([
    ['trouble with reading it', ioError, 'CheckpointIoError', on('node-a')],
    ['content that differs', differs, 'CheckpointUnreadable', on('node-a', 'ContentDiffers')],
  ])('%s is recorded with the pod’s node, and is not charged', (_sentence, exit, reason, fault) => {
    expect(last(ended([exit, undefined]))).toMatchObject({
      reason,
      charged: false,
      answer: 'Restart',
      checkpointFaults: [fault],
    });
  });

  it('is recorded of every pod, though they end one after the other', () => {
    const observed = ended([ioError, undefined]);
    const failed = { ...observed, job: { ...observed.job, status: decide(observed, NOW).status } };
    const both = { ...ended([ioError, ioError]), job: failed.job };
    expect(last(both)?.checkpointFaults).toEqual([on('node-a'), on('node-b')]);
  });

  it('is not believed of another epoch, of another end, or where nothing was to be loaded', () => {
    const faultsWith = (more: Partial<TerminationCause>) =>
      last(
        ended([
          anExit({ exitCode: 74 }, cause({ kind: 'checkpointIoError', checkpointFault: eio, ...more })),
          undefined,
        ]),
      );
    expect(faultsWith({ epoch: 1 })?.checkpointFaults).toBeUndefined();
    expect(faultsWith({ kind: 'engineFailed' })?.checkpointFaults).toBeUndefined();
    const scratch = ended([ioError, undefined], { attempts: [anAttempt({ epoch: 2 })] });
    expect(last(scratch)).toMatchObject({ reason: 'EngineFailed', charged: true });
    expect(last(scratch)?.checkpointFaults).toBeUndefined();
  });

  it('never condemns by one node, so the next epoch tries the same checkpoint again', () => {
    const { actions } = settled(
      observe({ ...ended([]), job: aJob({ status: aStatus({ attempts: [tried(2, [on('node-a')])] }) }) }),
    );
    expect(kinds(actions)).toEqual(['createPlacement', 'markCheckpoint']);
    expect(actions[0]).toMatchObject({ spec: { resume: { checkpoint: C40 } } });
  });

  it('avoids the node that says so, and asks another one about the same checkpoint', () => {
    const { status } = decide(ended([differs, undefined]), NOW);
    expect(status.avoidedNodes).toMatchObject([{ node: 'node-a', reason: 'ContentDiffers', epoch: 2 }]);
    const attempts = [tried(2, [on('node-a', 'ContentDiffers')], { reason: 'CheckpointUnreadable' })];
    const capacity = () => aCapacity(['node-a', 'node-b', 'node-c'].map((name) => aNode({ name })));
    const job = aJob({ status: aStatus({ attempts, avoidedNodes: [...(status.avoidedNodes ?? [])] }) });
    const { actions } = settled(observe({ ...ended([]), job, capacity }));
    expect(actions).toMatchObject([
      { kind: 'createPlacement', spec: { nodes: ['node-c', 'node-b'], resume: { checkpoint: C40 } } },
      { kind: 'markCheckpoint', name: C40 },
    ]);
  });

  it.each<[string, NonNullable<TrainingJob['spec']['checkpoint']>, readonly string[]]>([
    ['a claim that one node of two cannot read', { ...CHECKPOINT, claimName: 'tiny' }, ['node-a']],
    ['a bucket, which is the same from every node', { ...CHECKPOINT, bucket: { uri: 's3://training' } }, []],
  ])('avoids the node where storage did not answer only for %s', (_what, checkpoint, nodes) => {
    const { node: ___, ...broken } = on('node-a', 'MountBroken');
    const exit = anExit({ exitCode: 74 }, cause({ kind: 'checkpointIoError', checkpointFault: broken }));
    const observed = ended([exit, undefined]);
    const job = { ...observed.job, spec: { ...observed.job.spec, checkpoint, resources: { gpusPerNode: 4 } } };
    const { status } = decide({ ...observed, job }, NOW);
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'CheckpointIoError', charged: false });
    expect((status.avoidedNodes ?? []).map(({ node }) => node)).toEqual(nodes);
  });

  it('avoids none if both pods of a gang say so, also beside two standbys', () => {
    const { node: ___, ...broken } = on('node-a', 'MountBroken');
    const exit = anExit({ exitCode: 74 }, cause({ kind: 'checkpointIoError', checkpointFault: broken }));
    const attempt = anAttempt({
      epoch: 2,
      resumedFrom: { checkpoint: C40, step: 40 },
      standbys: 2,
      standbyGpus: 4,
    });
    const observed = ended([exit, exit, undefined, undefined], { attempts: [attempt] });
    const nodes = ['node-a', 'node-b', 'node-c', 'node-d'];
    const placements = [aPlacement(observed.job, { epoch: 2, nodes, ranks: ['0-1', '2-3', '', ''] })];
    const { status } = decide({ ...observed, placements }, NOW);
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'CheckpointIoError' });
    expect(status.avoidedNodes ?? []).toEqual([]);
  });

  it.each([
    ['of one NVLink domain', {}],
    ['that are domains of their own', { labels: {} }],
  ])(
    'gives another node of the gang the ranks of the one that says so, where the gang needs all nodes %s',
    (_s, node) => {
      const attempts = [tried(2, [on('node-a', 'ContentDiffers')], { reason: 'CheckpointUnreadable' })];
      const avoidedNodes = [{ node: 'node-a', reason: 'ContentDiffers' as const, epoch: 2, since: NOW.toISOString() }];
      const capacity = () => aCapacity(['node-a', 'node-b'].map((name) => aNode({ name, ...node })));
      const seen = { ...ended([]), job: aJob({ status: aStatus({ attempts, avoidedNodes }) }), capacity };
      expect(settled(observe(seen)).actions).toMatchObject([
        { kind: 'createPlacement', spec: { nodes: ['node-b', 'node-a'], resume: { checkpoint: C40 } } },
        { kind: 'markCheckpoint', name: C40 },
      ]);
    },
  );

  it('asks a person where one node says so three times and no other can be asked, and condemns nothing', () => {
    const attempts = [2, 3, 4].map((epoch) =>
      tried(epoch, [on('node-a', 'ContentDiffers')], { reason: 'CheckpointUnreadable' }),
    );
    const { status, actions } = settled(observe({ ...ended([]), job: aJob({ status: aStatus({ attempts }) }) }));
    const placed = findCondition(status.conditions, 'Placed');
    expect(placed?.reason).toBe('CheckpointsUnusable');
    expect(placed?.message).toContain(
      `Only node-a reports that the content of checkpoint ${C40} is not what was saved, in 3 attempts in a row, and no second node was available to check.`,
    );
    expect(kinds(actions)).toEqual(['markCheckpoint']);
  });

  it('condemns by content that two nodes saw, once, with the evidence on the object, and the one before is taken', () => {
    const attempts = [
      tried(2, [on('node-a', 'ContentDiffers')], { reason: 'CheckpointUnreadable' }),
      tried(3, [on('node-b', 'ContentDiffers')], { reason: 'CheckpointUnreadable' }),
    ];
    const { actions } = settled(observe({ ...ended([]), job: aJob({ status: aStatus({ attempts }) }) }));
    expect(actions).toMatchObject([
      {
        kind: 'markCheckpointDamaged',
        name: C40,
        message: `It is not used: its content is not what was saved: attempt 2 on node-a: ${PATH} has 7 bytes, not 8 bytes; attempt 3 on node-b: ${PATH} has 7 bytes, not 8 bytes. An attempt that begins from an older one verifies it again, at most once an hour, and it is used if it verifies.`,
        condemnation: {
          by: 'Content',
          evidence: [
            { epoch: 2, node: 'node-a', expected: '8 bytes', found: '7 bytes' },
            { epoch: 3, node: 'node-b', expected: '8 bytes', found: '7 bytes' },
          ],
        },
      },
      { kind: 'createPlacement', spec: { resume: { step: 20 } } },
    ]);
  });
});
