import { type Attempt, type Checkpoint, findCondition, type TrainingJobStatus } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import { jobEvents } from '../decide/job-events.ts';
import { situationOf } from '../decide/situation.ts';
import type { Observed } from '../observation/observed.ts';
import { aCheckpoint, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW, settled } from '../testing/jobs.ts';

const at = (step: number, epoch = 1, status?: Checkpoint['status']): Checkpoint =>
  aCheckpoint(aJob(), { spec: { step, epoch }, ...(status === undefined ? {} : { status }) });
const nameOf = (step: number, epoch = 1): string => at(step, epoch).metadata.name;
const ended = (epoch: number, more: Partial<Attempt> = {}): Attempt =>
  anAttempt({
    epoch,
    stage: 'Ended',
    outcome: 'Failed',
    reason: 'EngineFailed',
    charged: true,
    answer: 'Restart',
    ...more,
  });
const ioError = (epoch: number, step = 40): Attempt =>
  ended(epoch, {
    reason: 'CheckpointIoError',
    charged: false,
    resumedFrom: { checkpoint: nameOf(step), step },
    checkpointFaults: [{ node: `node-${epoch}`, kind: 'MountBroken', path: '/c', errno: 'ESTALE' }],
  });
/** Another node each time, whose mount works. */
const unreadable = (epoch: number, step = 40): Attempt => ({
  ...ioError(epoch, step),
  checkpointFaults: [
    { node: `node-${epoch}`, kind: 'FileUnreadable', path: `/c/step-${step}/rank-0.bin`, errno: 'EIO' },
  ],
});
/** It began from an older step, and found that one of the newer ones is well. */
const verified = (epoch: number, step: number): Attempt => ({
  ...ioError(epoch, 20),
  checkpointFaults: undefined,
  verifiedCheckpoint: nameOf(step),
});

/** A job that ended an epoch and is to begin another. */
const restarting = (
  about: {
    readonly checkpoints?: readonly Checkpoint[];
    readonly status?: Partial<TrainingJobStatus>;
  } = {},
): Observed => {
  const { checkpoints = [], status } = about;
  const job = aJob({
    status: aStatus({ attempts: [ended(1)], ...status }),
  });
  return observe({ job, checkpoints });
};
const beginning = (observed: Observed): string => {
  const { next } = situationOf(observed, NOW);
  if (next.kind !== 'placing') return next.kind;
  const { answers } = next;
  const { resume } = next.spec;
  const from = resume === undefined ? 'scratch' : `step ${resume.step}`;
  return answers === undefined ? from : `${from}, as asked`;
};

const message = (status: TrainingJobStatus): string => findCondition(status.conditions, 'Placed')?.message ?? '';

describe('after attempts that could not load the newest checkpoint, a job begins', () => {
  it.each<[string, readonly Attempt[], string]>([
    ['again from the one that one node could not read, however often', [1, 2].map(() => unreadable(1)), 'step 40'],
    [
      'from the one before where two nodes could not read it',
      [unreadable(1), unreadable(2)],
      'step 20, passing over step 40',
    ],
    [
      'from the newest where two nodes could read none of them',
      [unreadable(1), unreadable(2), unreadable(3, 20), unreadable(4, 20)],
      'step 40',
    ],
    ['again from it once it verified', [unreadable(1), unreadable(2), verified(3, 40)], 'step 40'],
    [
      'from the one before, without another verification, where it verified and then could not be read again',
      [unreadable(1), unreadable(2), verified(3, 40), unreadable(4), unreadable(5)],
      'step 20',
    ],
    [
      'from the one before, with another verification, where training went on since',
      [
        unreadable(1),
        unreadable(2),
        verified(3, 40),
        unreadable(4),
        unreadable(5),
        ended(6, { resumedFrom: { checkpoint: nameOf(20), step: 20 }, lastStep: 30 }),
      ],
      'step 20, passing over step 40',
    ],
  ])('%s', (_sentence, attempts, want) => {
    const observed = restarting({ checkpoints: [at(20), at(40)], status: { attempts: [...attempts] } });
    const { next } = situationOf(observed, NOW);
    const passed = next.kind === 'placing' ? (next.passedOver ?? []) : [];
    const over = passed.length === 0 ? '' : `, passing over ${passed.map(({ step }) => `step ${step}`).join(', ')}`;
    expect(`${beginning(observed)}${over}`).toBe(want);
  });

  it('from the one before with a sentence on the step that is passed over, why, and what brings it back', () => {
    const attempts = [unreadable(1), unreadable(2)];
    const { status, actions } = settled(restarting({ checkpoints: [at(20), at(40)], status: { attempts } }));
    const sentence =
      `Step 40 (checkpoint ${nameOf(40)}) is passed over, because two nodes could not read it: ` +
      'attempt 1 on node-1: /c/step-40/rank-0.bin cannot be read (EIO), though its mount works; ' +
      'attempt 2 on node-2: /c/step-40/rank-0.bin cannot be read (EIO), though its mount works. ' +
      'It is verified before the ranks start, and used if it verifies.';
    expect(message(status)).toContain(sentence);
    expect(status.checkpoint?.step).toBe(20);
    expect(status.attempts?.at(-1)?.passedOver).toMatchObject([
      { checkpoint: nameOf(40), path: at(40).spec.path, files: ['/c/step-40/rank-0.bin'] },
    ]);
    const events = jobEvents({ job: aJob({ status }), checkpoints: [], placements: [] });
    expect(events.find(({ type }) => type === 'CheckpointPassedOver')?.message).toBe(sentence);
    const mark = actions.find(({ kind }) => kind === 'markCheckpoint');
    expect(mark).toMatchObject({
      name: nameOf(40),
      status: {
        state: 'Complete',
        message: expect.stringMatching(/^It is suspect, because two nodes could not read it: .*used until it verifies/),
        suspect: { reason: 'Unreadable', evidence: [{ epoch: 1 }, { epoch: 2 }] },
      },
    });
  });

  it('and marks nothing twice, and clears the mark once ranks have trained from the checkpoint', () => {
    const attempts = [unreadable(1), unreadable(2)];
    const marksOf = (checkpoint: Checkpoint, ...more: Attempt[]) =>
      settled(
        restarting({ checkpoints: [at(20), checkpoint], status: { attempts: [...attempts, ...more] } }),
      ).actions.flatMap((action) => (action.kind === 'markCheckpoint' ? [action.status] : []));
    const [mark] = marksOf(at(40));
    expect(marksOf(at(40, 1, mark))).toEqual([]);
    const trained = ended(3, { resumedFrom: { checkpoint: nameOf(40), step: 40 }, lastStep: 45 });
    expect(marksOf(at(40, 1, mark), trained)).toEqual([{ state: 'Complete' }]);
    const condemned: Checkpoint['status'] = {
      state: 'Damaged',
      condemnation: {
        by: 'Content',
        evidence: [{ epoch: 2, node: 'node-a', kind: 'ContentDiffers', path: '/c' }],
      },
    };
    expect(marksOf(at(40, 1, condemned), trained)).toEqual([{ state: 'Complete' }]);
  });

  const condemnedIn = (epoch: number): Checkpoint['status'] => ({
    state: 'Damaged',
    condemnation: {
      by: 'Content',
      evidence: [
        { epoch: epoch - 1, node: 'node-a', kind: 'ContentDiffers', path: '/c/a' },
        { epoch, node: 'node-b', kind: 'ContentDiffers', path: '/c/b' },
      ],
    },
  });
  const hourAgo = new Date(NOW.getTime() - 3_600_001).toISOString();
  const passing = { checkpoint: nameOf(40), step: 40, path: '/c', manifestSha256: 'a'.repeat(64), files: [], why: '' };

  it.each<[string, Partial<Attempt>, Checkpoint['status'], readonly string[]]>([
    ['is verified again an hour after it was found damaged', { startedAt: hourAgo }, condemnedIn(3), ['/c/a', '/c/b']],
    ['is not verified within that hour', {}, condemnedIn(3), []],
    [
      'is not verified again within an hour after it was verified',
      { resumedFrom: { checkpoint: nameOf(20), step: 20 }, passedOver: [passing] },
      condemnedIn(1),
      [],
    ],
    ['is not verified if a user has marked it', { startedAt: hourAgo }, { state: 'Damaged', message: 'bad' }, []],
  ])('from the one before a damaged one, which %s', (_what, last, status, files) => {
    const resumedFrom = { checkpoint: nameOf(40), step: 40 };
    const attempts = [ended(3, { resumedFrom, reason: 'CheckpointUnreadable', ...last })];
    const { next } = situationOf(restarting({ checkpoints: [at(20), at(40, 1, status)], status: { attempts } }), NOW);
    expect(next).toMatchObject({ kind: 'placing', spec: { resume: { step: 20 } } });
    expect(next.kind === 'placing' && (next.passedOver ?? []).flatMap((one) => one.files)).toEqual(files);
  });

  it('from a damaged one that verified, and its verdict is taken back', () => {
    const attempts = [ended(3), { ...verified(4, 40), startedAt: hourAgo }];
    const { status, actions } = settled(
      restarting({ checkpoints: [at(20), at(40, 1, condemnedIn(3))], status: { attempts } }),
    );
    expect(status.attempts?.at(-1)?.resumedFrom?.step).toBe(40);
    expect(actions).toContainEqual(expect.objectContaining({ kind: 'markCheckpoint', status: { state: 'Complete' } }));
  });

  it('and does not count nodes whose mount did not work as nodes that could not read the file', () => {
    const attempts = [
      unreadable(1),
      unreadable(1),
      { ...unreadable(1), epoch: 2 },
      { ...unreadable(1), epoch: 3 },
      ioError(4),
    ];
    const checkpoints = [at(20), at(40)];
    const { status } = settled(restarting({ checkpoints, status: { attempts } }));
    expect(message(status)).toMatch(
      /passed over, because it could not be read in several attempts: attempt 1 on node-1/,
    );
  });

  it('and writes a mark again whose message is another one', () => {
    const attempts = [unreadable(1), unreadable(2)];
    const marksOf = (checkpoint: Checkpoint) =>
      settled(restarting({ checkpoints: [at(20), checkpoint], status: { attempts } })).actions.flatMap((action) =>
        action.kind === 'markCheckpoint' ? [action.status] : [],
      );
    const [mark] = marksOf(at(40));
    expect(marksOf(at(40, 1, { ...mark, state: 'Complete', message: 'It is suspect.' }))).toEqual([mark]);
  });

  it('after a pause whose sentence names the claim that no node can read, and blames no checkpoint', () => {
    const attempts = [ioError(1), { ...ioError(2), answer: 'Restart' as const }];
    const observed = restarting({
      checkpoints: [at(20), at(40)],
      status: { attempts, notBefore: new Date(NOW.getTime() + 60_000).toISOString() },
    });
    const waits = { ...observed, elapsedMs: new Map() };
    expect(message(decide(waits, NOW).status)).toMatch(
      /^Attempt 3 starts after the delay\. Claim checkpoints could not be read on node-2, so no checkpoint is blamed\./,
    );
  });
});
