/** More than 400 lines: one table of checkpoints, from which each sentence starts again. */
import type { Attempt, Checkpoint, ResumeFrom, TrainingJobStatus } from '@coxswain/api-types';
import { CheckpointResourceSpec, findCondition } from '@coxswain/api-types';
import { aVerification, someContents } from '@coxswain/api-types/testing';
import { adoptedSave } from '@coxswain/checkpoint';
import { decide } from '../decide/decide.ts';
import type { Observed } from '../observation/observed.ts';
import { situationOf } from '../decide/situation.ts';
import { aCheckpoint, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, kinds, NOW, settled, summaryOfCondition } from '../testing/jobs.ts';

const at = (step: number, epoch = 1, status?: Checkpoint['status']): Checkpoint =>
  aCheckpoint(aJob(), { spec: { step, epoch }, ...(status === undefined ? {} : { status }) });
const damaged = (step: number): Checkpoint => at(step, 1, { state: 'Damaged', message: 'a file is cut off' });
const foundIncomplete = (step: number): Checkpoint =>
  at(step, 1, {
    state: 'Complete',
    verification: aVerification({
      verdict: 'incomplete',
      by: 'Worker',
      node: 'node-a',
      findings: [{ kind: 'incomplete', message: 'File x is not there.' }],
    }),
  });
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
const unreadable = (epoch: number, path = '/c/step-40/rank-0.bin'): Attempt => ({
  ...ioError(epoch),
  checkpointFaults: [{ node: `node-${epoch}`, kind: 'FileUnreadable', path, errno: 'EIO' }],
});
/** Nothing is reported about the files. */
const unexplained = (epoch: number): Attempt => ({ ...ioError(epoch), checkpointFaults: undefined });
const refused = (epoch: number): Attempt => ({
  ...ioError(epoch),
  reason: 'CheckpointUnreadable',
  checkpointFaults: undefined,
});
const epochs = (count: number, make: (epoch: number) => Attempt): Attempt[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));

/** A job that ended an attempt and is to begin another. */
const restarting = (
  about: {
    readonly checkpoints?: readonly Checkpoint[];
    readonly resumeFrom?: ResumeFrom;
    readonly status?: Partial<TrainingJobStatus>;
    readonly suspend?: boolean;
  } = {},
): Observed => {
  const { checkpoints = [], resumeFrom, status, suspend = false } = about;
  const job = aJob({
    spec: { suspend, ...(resumeFrom === undefined ? {} : { resumeFrom }) },
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

it('the status names no checkpoint whose bytes were found incomplete', () => {
  const status = { checkpoint: { name: nameOf(40), step: 40 } };
  const seen = restarting({ checkpoints: [at(20), foundIncomplete(40)], status });
  expect(settled(seen).status.checkpoint).toEqual({ name: nameOf(20), step: 20 });
});

describe('a job that names an adopted checkpoint', () => {
  const files = { count: 3, bytes: 300, sha256: 'a'.repeat(64) };
  const read: Checkpoint['status'] = {
    state: 'Complete',
    verification: aVerification({ by: 'Worker' }),
    contents: someContents({ step: 700, isResumable: true, format: 'dcp' }),
    files,
  };
  const adopted = (status: Checkpoint['status']): Checkpoint => {
    const spec = CheckpointResourceSpec.parse({ claimName: 'old-runs', path: 'llama/step-700' });
    const named = { ...at(0), metadata: { name: 'llama', namespace: 'research', uid: 'llama' }, spec };
    const { status: _, ...unread } = named;
    return adoptedSave(status === undefined ? unread : { ...unread, status }, aJob().metadata.uid);
  };
  const asked = { resumeFrom: { from: 'llama' } };
  const answered = { attempts: [ended(1)], resumeFrom: { from: 'llama', epoch: 1 } };

  it.each<[string, Parameters<typeof restarting>[0], string]>([
    ['begins from it', { checkpoints: [adopted(read)], ...asked }, 'step 700, as asked'],
    ['begins from it though it has saves', { checkpoints: [at(20), adopted(read)], ...asked }, 'step 700, as asked'],
    ['waits until it is verified', { checkpoints: [adopted(undefined)], ...asked }, 'unresumable'],
    [
      'begins from it again before it has saved',
      { checkpoints: [adopted(read)], ...asked, status: answered },
      'step 700',
    ],
    [
      'goes on from its own later save',
      { checkpoints: [at(720, 1), adopted(read)], ...asked, status: answered },
      'step 720',
    ],
    [
      'does not go on from another one that was adopted under its name since',
      { checkpoints: [at(20, 1), adopted({ state: 'Unverified' })], ...asked, status: answered },
      'step 20',
    ],
    ['forgets it with the request', { checkpoints: [at(20), adopted(read)] }, 'step 20'],
  ])('%s', (_sentence, about, want) => {
    expect(beginning(restarting(about))).toBe(want);
  });

  it('begins its first attempt from it', () => {
    const job = aJob({ spec: { resumeFrom: { from: 'llama' } } });
    expect(beginning(observe({ job, checkpoints: [adopted(read)] }))).toBe('step 700, as asked');
  });

  it('mounts its claim, and compares its files', () => {
    const { next } = situationOf(restarting({ checkpoints: [adopted(read)], ...asked }), NOW);
    expect(next.kind === 'placing' ? next.spec.resume : undefined).toEqual({
      checkpoint: 'llama',
      step: 700,
      path: 'llama/step-700',
      manifestSha256: '0'.repeat(64),
      claimName: 'old-runs',
      filesSha256: files.sha256,
    });
  });

  it.each<[what: string, uri: string, want: string | RegExp]>([
    ['in the bucket of the job', 's3://training/runs', 'llama/step-700'],
    ['below the prefix of the job', 's3://training/runs/old', 'old/llama/step-700'],
    [
      'in another bucket',
      's3://other',
      /spec\.resumeFrom names checkpoint llama, which is adopted and in bucket s3:\/\/other, below/,
    ],
    ['beside the prefix of the job', 's3://training/runs-2', /below no prefix of the job; copy it there/],
  ])('finds one %s', (_what, uri, want) => {
    const checkpoint = { bucket: { uri: 's3://training/runs' } };
    const job = aJob({ spec: { resumeFrom: { from: 'llama' }, checkpoint } });
    const one = adopted(read);
    const inBucket = { ...one, spec: { ...one.spec, claimName: '', bucket: { uri } } };
    const seen = observe({ job, checkpoints: [inBucket] });
    const { next } = situationOf(seen, NOW);
    if (typeof want !== 'string') return expect(next).toMatchObject({ message: expect.stringMatching(want) as string });
    expect(next.kind === 'placing' ? next.spec.resume : undefined).toEqual({
      ...{ checkpoint: 'llama', step: 700, path: want },
      ...{ manifestSha256: '0'.repeat(64), filesSha256: files.sha256 },
    });
  });

  it('never marks or deletes its object', () => {
    const seen = restarting({ checkpoints: [adopted({ state: 'Unverified' })], ...asked });
    expect(kinds(decide(seen, NOW).actions)).not.toContain('markCheckpoint');
  });
});

describe('without a request, a job begins', () => {
  it.each<[string, Parameters<typeof restarting>[0], string]>([
    ['from scratch where nothing was ever saved', {}, 'scratch'],
    ['from the newest checkpoint', { checkpoints: [at(20), at(40)] }, 'step 40'],
    ['from an older one, where the newest is damaged', { checkpoints: [at(20), damaged(40)] }, 'step 20'],
    [
      'from an older one, where a verification of its bytes found the newest incomplete',
      { checkpoints: [at(20), foundIncomplete(40)] },
      'step 20',
    ],
    [
      'not at all, where verifications found all of them incomplete',
      { checkpoints: [foundIncomplete(40)] },
      'unresumable',
    ],
    [
      'as asked from one that a verification found incomplete',
      { checkpoints: [at(20), foundIncomplete(40)], resumeFrom: { from: nameOf(40) } },
      'step 40, as asked',
    ],
    ['not at all, where all are damaged', { checkpoints: [damaged(20), damaged(40)] }, 'unresumable'],
    [
      'not at all, where one was never marked complete',
      { checkpoints: [at(20, 1, {} as Checkpoint['status'])] },
      'unresumable',
    ],
    [
      'not at all, where status knows one that is gone',
      { status: { checkpoint: { name: 'x', step: 500 } } },
      'unresumable',
    ],
    [
      'not at all, where an attempt resumed from one that is gone',
      { status: { attempts: [ended(1, { resumedFrom: { checkpoint: 'x', step: 500 } })] } },
      'unresumable',
    ],
    [
      'again from the one that nine attempts could not reach',
      { checkpoints: [at(40)], status: { attempts: epochs(9, ioError) } },
      'step 40',
    ],
    [
      'again from it, however many attempts found that storage cannot be read',
      {
        checkpoints: [at(40)],
        status: { attempts: [...epochs(20, ioError), ...[21, 22].map((epoch) => unreadable(epoch))] },
      },
      'step 40',
    ],
    [
      'again from it, where nine attempts could not read one file',
      { checkpoints: [at(40)], status: { attempts: epochs(9, (epoch) => unreadable(epoch)) } },
      'step 40',
    ],
    [
      'not at all after ten attempts in a row that could not read the same file of the only checkpoint, though its claim works',
      { checkpoints: [at(40)], status: { attempts: epochs(10, (epoch) => unreadable(epoch)) } },
      'unresumable',
    ],
    [
      'again from it, where the claim itself could not be read in one of the ten: that is an outage',
      { checkpoints: [at(40)], status: { attempts: [...epochs(9, (epoch) => unreadable(epoch)), ioError(10)] } },
      'step 40',
    ],
    [
      'again from it, where the ten could not read different files: that is an outage',
      {
        checkpoints: [at(40)],
        status: { attempts: epochs(10, (epoch) => unreadable(epoch, `/c/step-40/${epoch}.bin`)) },
      },
      'step 40',
    ],
    [
      'again from it, where another checkpoint could not be read either: that is an outage',
      {
        checkpoints: [at(20), at(40)],
        status: {
          attempts: [
            ...[1, 2].map((epoch) => ({ ...unreadable(epoch), resumedFrom: { checkpoint: nameOf(20), step: 20 } })),
            ...[3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((epoch) => unreadable(epoch)),
          ],
        },
      },
      'step 40',
    ],
    [
      'again from it after ten, where a user asked for it since',
      {
        checkpoints: [at(40)],
        status: { attempts: epochs(12, (epoch) => unreadable(epoch)), resumeFrom: { from: nameOf(40), epoch: 11 } },
      },
      'step 40',
    ],
    [
      'not at all after ten attempts in a row that could not load one and do not say why',
      { checkpoints: [at(40)], status: { attempts: epochs(10, unexplained) } },
      'unresumable',
    ],
    [
      'again after ten, where one of them trained',
      { checkpoints: [at(40)], status: { attempts: [...epochs(9, unexplained), ended(10), unexplained(11)] } },
      'step 40',
    ],
    [
      'again from the one that the engine refused twice',
      { checkpoints: [at(40)], status: { attempts: epochs(2, refused) } },
      'step 40',
    ],
    [
      'not at all after the engine refused the same one three times',
      { checkpoints: [at(20), at(40)], status: { attempts: epochs(3, refused) } },
      'unresumable',
    ],
  ])('%s', (_sentence, about, want) => {
    expect(beginning(restarting(about))).toBe(want);
  });

  it('not from one that its engine loads at another layout only, and is told which and what to do', () => {
    const { layout } = aJob().spec;
    const saved = aCheckpoint(aJob(), {
      spec: { step: 40, format: 'hugging-face', layout: { ...layout, dataParallelDegree: 64 } },
    });
    const observed = restarting({ checkpoints: [saved] });
    expect(beginning(observed)).toBe('unresumable');
    expect(JSON.stringify(decide(observed, NOW).status)).toContain(
      `Checkpoint ${saved.metadata.name} was saved as hugging-face with ranks`,
    );
  });

  it('names the file that ten attempts could not read, what to do, and touches no checkpoint', () => {
    const { status, actions } = settled(
      restarting({ checkpoints: [at(40)], status: { attempts: epochs(10, (epoch) => unreadable(epoch)) } }),
    );
    const said = message(status);
    expect(said).toMatch(
      /^File \/c\/step-40\/rank-0\.bin of checkpoint \S+ could not be read in 10 attempts in a row, last on node-10 \(EIO\), although claim \S+ works\./,
    );
    expect(said).toMatch(/coxswain resume tiny-gpt --from CHECKPOINT \(or scratch\), or with spec\.resumeFrom/);
    expect(findCondition(status.conditions, 'Placed')?.reason).toBe('CheckpointsUnusable');
    expect(JSON.stringify(actions)).not.toMatch(/deleteCheckpoint|Damaged/);
  });

  it('charges none of the attempts that could not reach the checkpoint, and never gives up for them', () => {
    const attempts = [
      ...epochs(12, ioError),
      anAttempt({ epoch: 13, resumedFrom: { checkpoint: nameOf(40), step: 40 } }),
    ];
    const job = aJob({ spec: { restartPolicy: { maxRestarts: 0 } }, status: aStatus({ attempts }) });
    const pods = [aPod(job, { epoch: 13, phase: 'Failed', running: false, exit: { exitCode: 74, reason: 'Error' } })];
    const { status } = decide(observe({ job, pods, placements: [aPlacement(job, { epoch: 13 })] }), NOW);
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'CheckpointIoError', charged: false, answer: 'Restart' });
    expect(status.restarts.charged).toBe(0);
  });
});

describe('a request is followed once', () => {
  const all = [at(20), at(40), at(60, 2)];
  const asked = (from: string, status: Partial<TrainingJobStatus> = {}, checkpoints = all): Observed =>
    restarting({ resumeFrom: { from }, status, checkpoints });

  it.each<[string, Observed, string]>([
    ['to a checkpoint', asked(nameOf(20)), 'step 20, as asked'],
    ['to scratch, though checkpoints are there', asked('scratch'), 'scratch, as asked'],
    ['to scratch, where nothing can be used', asked('scratch', {}, [damaged(40)]), 'scratch, as asked'],
    [
      'even after ten attempts that could not reach it',
      asked(nameOf(40), { attempts: epochs(10, ioError) }),
      'step 40, as asked',
    ],
    [
      'to a damaged checkpoint, which launchers verify before they load it',
      asked(nameOf(40), {}, [at(20), damaged(40)]),
      'step 40, as asked',
    ],
    [
      'to one that two nodes could not read',
      asked(nameOf(40), { attempts: [unreadable(1), unreadable(2)] }),
      'step 40, as asked',
    ],
    ['not to one of another job', asked('another-e1-s20'), 'unresumable'],
    [
      'not again, once it is answered',
      asked(nameOf(20), { resumeFrom: { from: nameOf(20), epoch: 2 }, attempts: [ended(2)] }, [at(20), at(40)]),
      'step 20',
    ],
    [
      'again under another request',
      restarting({
        resumeFrom: { from: nameOf(20), request: 'second' },
        status: { resumeFrom: { from: nameOf(20), request: 'first', epoch: 2 }, attempts: [ended(2)] },
        checkpoints: [at(20), at(60, 2)],
      }),
      'step 20, as asked',
    ],
  ])('%s', (_sentence, observed, want) => {
    expect(beginning(observed)).toBe(want);
  });

  it.each<[string, TrainingJobStatus['resumeFrom'], readonly Checkpoint[], string]>([
    ['what was saved since', { from: nameOf(20), epoch: 2 }, [at(20), at(500), at(60, 2)], 'step 60'],
    [
      'the one that was named, where nothing was saved since',
      { from: nameOf(20), epoch: 2 },
      [at(20), at(500)],
      'step 20',
    ],
    [
      'nothing else, where that one is damaged by now',
      { from: nameOf(20), epoch: 2 },
      [damaged(20), at(500)],
      'unresumable',
    ],
    ['scratch again, where nothing was saved since', { from: 'scratch', epoch: 2 }, [at(500)], 'scratch'],
    [
      'no scratch any more, once something was saved',
      { from: 'scratch', epoch: 2 },
      [at(500), { ...damaged(5), spec: at(5, 2).spec }],
      'unresumable',
    ],
  ])('and what comes after a later failure is %s', (_what, resumeFrom, checkpoints, want) => {
    const status = { resumeFrom, attempts: [ended(2)] };
    expect(beginning(restarting({ resumeFrom: { from: resumeFrom?.from ?? '' }, status, checkpoints }))).toBe(want);
  });

  it('is recorded as answered with the epoch that answers it, and status speaks of the step that it goes on from', () => {
    for (const from of ['scratch', nameOf(20)]) {
      const observed = asked(from, { checkpoint: { name: nameOf(60, 2), step: 60 }, attempts: [ended(2)] });
      const { status } = decide(observed, NOW);
      expect(status.resumeFrom).toEqual({ from, epoch: 3 });
      expect(status.checkpoint?.step).toBe(from === 'scratch' ? undefined : 20);
      expect(status.attempts?.at(-1)).toMatchObject({ epoch: 3, stage: 'Creating' });
      expect(status.attempts?.at(-1)?.resumedFrom?.step).toBe(from === 'scratch' ? undefined : 20);
      // And stays so, though a later step of the line that was given up lies there.
      const after = settled({ ...observed, job: { ...observed.job, status } });
      expect(after.status.checkpoint).toEqual(status.checkpoint);
      // A crash before the Placement is made changes nothing: it is made as it was recorded.
      expect(after.actions).toMatchObject([{ kind: 'createPlacement', name: status.attempts?.at(-1)?.placement }]);
    }
  });

  it('is not followed again when the status was lost, which would throw away what was trained since', () => {
    const job = aJob({ spec: { resumeFrom: { from: 'scratch' } } });
    const { status } = decide(observe({ job, checkpoints: all }), NOW);
    expect(status.resumeFrom).toEqual({ from: 'scratch', epoch: 0 });
    expect(status.attempts?.at(-1)?.resumedFrom?.step).toBe(60);
  });
});

describe('a job that cannot resume', () => {
  const stuck = (about: Parameters<typeof restarting>[0] = { checkpoints: [damaged(20), damaged(40)] }) =>
    settled(restarting(about));
  it('waits, holds nothing, does nothing, and first says what to do', () => {
    const { status, actions } = stuck();
    expect(status.state).toBe('Queued');
    expect(summaryOfCondition(status, 'Placed')).toBe('False/CheckpointsUnusable');
    expect(status.summary).toMatch(/^No checkpoint can be used\. .* coxswain resume tiny-gpt --from CHECKPOINT/);
    expect(kinds(actions)).toEqual([]);
  });

  it('lists what is known of each, newest first', () => {
    const attempts = [...epochs(10, unexplained), ioError(11)];
    expect(message(stuck({ checkpoints: [damaged(20), at(40)], status: { attempts } }).status)).toMatch(
      new RegExp(
        `Known: step 40 \\(${nameOf(40)}\\): complete, but could not be loaded in .*attempt 11 on node-11 \\(ESTALE\\); ` +
          `step 20 \\(${nameOf(20)}\\): is damaged: a file is cut off\\.$`,
      ),
    );
  });

  it('says so of a thousand checkpoints in a text that is short enough', () => {
    const many = Array.from({ length: 1_000 }, (_, step) => ({
      ...damaged(step),
      status: { state: 'Damaged' as const, message: 'x'.repeat(4_000) },
    }));
    const text = message(stuck({ checkpoints: many }).status);
    expect(text.length).toBeLessThan(4_096);
    expect(text).toContain('990 older ones');
  });

  it.each([
    [
      'was asked for one that was never marked complete',
      nameOf(60),
      /which was never marked complete\..*choose .*step 40 .*is damaged: a file is cut off/,
    ],
    [
      'was asked for one that it does not have',
      'x-e1-s7',
      /which this job does not have; one of another job can be used once it is adopted/,
    ],
  ])('says which and why, where it %s', (_what, from, want) => {
    expect(
      message(
        stuck({ checkpoints: [at(20), damaged(40), at(60, 1, {} as Checkpoint['status'])], resumeFrom: { from } })
          .status,
      ),
    ).toMatch(want);
  });

  it('goes on as soon as it is told where from', () => {
    const checkpoints = [damaged(20), damaged(40)];
    expect(beginning(restarting({ checkpoints, resumeFrom: { from: 'scratch' } }))).toBe('scratch, as asked');
  });

  it('says while it is suspended where it would go on', () => {
    const summary = (about: Parameters<typeof restarting>[0]) =>
      decide(restarting({ ...about, suspend: true }), NOW).status.summary;
    expect(summary({ checkpoints: [at(20)] })).toBe('Suspended; set spec.suspend to false to go on from step 20.');
    expect(summary({ checkpoints: [at(20)], resumeFrom: { from: 'scratch' } })).toMatch(
      /from scratch, as spec.resumeFrom asks/,
    );
    expect(summary({ checkpoints: [damaged(20)] })).toMatch(/^Suspended\. No checkpoint can be used\./);
  });
});

describe('what a cache does not show', () => {
  const unproven = (observed: Observed): Observed => ({ ...observed, areCheckpointsProven: false });
  const asRecorded = (observed: Observed): Observed => ({
    ...observed,
    job: { ...observed.job, status: settled(observed).status },
  });

  it.each<[string, Observed, boolean]>([
    ['a restart from scratch', restarting(), true],
    [
      'a restart from an earlier step than status knows',
      restarting({ checkpoints: [at(20)], status: { checkpoint: { name: 'x', step: 40 } } }),
      true,
    ],
    ['a restart from the newest step', restarting({ checkpoints: [at(40)] }), false],
    ['a restart from scratch that a person asks for', restarting({ resumeFrom: { from: 'scratch' } }), false],
    ['the first start', observe({ job: aJob({ status: aStatus({ epoch: 0, attempts: [] }) }) }), false],
    ['to say that nothing can be used', restarting({ checkpoints: [damaged(40)] }), true],
    ['once that is said', asRecorded(restarting({ checkpoints: [damaged(40)] })), false],
  ])('is read before %s', (_sentence, observed, want) => {
    const { actions, status } = decide(unproven(observed), NOW);
    expect(kinds(actions).includes('readCheckpoints')).toBe(want);
    if (want) expect(status).toEqual(observed.job.status);
  });

  it('is read before anything is written of a job that had a status and has none any more', () => {
    const decision = decide(unproven(observe()), NOW);
    expect([kinds(decision.actions), decision.readsFirst]).toEqual([['readCheckpoints'], true]);
  });
});
