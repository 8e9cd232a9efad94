import type { CheckpointRecord, TrainingJobSpecInput } from '@coxswain/api-types';
import { aCheckpointRecord, aJob, anAttempt, aVerification } from '@coxswain/api-types/testing';
import { runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';
const KEEP_ONE = { claimName: 'checkpoints', retention: { keepNewestVerified: 1 } };
const save = (step: number, changes: Partial<CheckpointRecord> = {}): CheckpointRecord =>
  aCheckpointRecord({
    ...{ name: `tiny-s${step}`, uid: `u${step}`, step, path: `tiny-gpt-3f1c2b9e/epoch-1/step-${step}` },
    verification: aVerification({ level: 'V2' }),
    ...changes,
  });

async function shown(
  items: readonly CheckpointRecord[],
  argv = '',
  {
    saving = KEEP_ONE,
    ...changes
  }: Parameters<typeof aJob>[0] & {
    readonly saving?: NonNullable<TrainingJobSpecInput['checkpoint']>;
  } = {},
): Promise<string> {
  const job = aJob({ ...changes, spec: { checkpoint: saving } } as Parameters<typeof aJob>[0]);
  const { out, err } = await runCommand(`checkpoint retention tiny-gpt ${argv}`.trimEnd(), {
    [JOBS]: { json: { items: [job] } },
    [`${JOBS}/${job.id}`]: { json: job },
    [`${JOBS}/${job.id}/checkpoints`]: { json: { items } },
  });
  return `${out}${err}`;
}

const actions = (out: string): readonly string[] =>
  out
    .split('\n')
    .flatMap((line) => / (tiny-s\d+) +(?:stays|goes) /.exec(line)?.[0].trim().replaceAll(/ +/g, ' ') ?? []);

describe('coxswain checkpoint retention', () => {
  it('says of each save whether it stays, and why, and that nothing was deleted', async () => {
    const out = await shown([save(10), save(20, { pin: 'baseline' }), save(30)]);
    expect(actions(out)).toEqual(['tiny-s10 goes', 'tiny-s20 stays', 'tiny-s30 stays']);
    expect(out).toMatch(/tiny-s10 +goes +The newest 1 verified saves stay, and the policy keeps this one for no other/);
    expect(out).toMatch(/tiny-s20 +stays +It is pinned: baseline\.\n/);
    expect(out).toMatch(/\n1 of 3 saves would go\. Nothing was deleted: the operator decides again/);
  });

  it.each<[string, Parameters<typeof shown>, readonly string[]]>([
    [
      'another policy',
      [[save(10), save(20), save(30)], '--keep-newest-verified 2'],
      ['tiny-s10 goes', 'tiny-s20 stays', 'tiny-s30 stays'],
    ],
    [
      'the losses of saves',
      [
        [save(10, { progress: { loss: 1 } }), save(20, { progress: { loss: 2 } }), save(30)],
        '--keep-newest-verified 1 --keep-best-by-loss 1',
      ],
      ['tiny-s10 stays', 'tiny-s20 goes', 'tiny-s30 stays'],
    ],
    [
      'saves that are gone already',
      [
        [
          save(10, { deletedAt: '2026-01-02T00:00:00Z' }),
          save(20, { isBeingDeleted: true, state: 'Damaged' }),
          save(30),
        ],
      ],
      ['tiny-s20 goes', 'tiny-s30 stays'],
    ],
    [
      'a save whose files are gone',
      [[save(10), save(20), save(30, { isAbsent: true })]],
      ['tiny-s10 goes', 'tiny-s20 stays', 'tiny-s30 stays'],
    ],
    [
      'a save that an attempt resumed from',
      [
        [save(10), save(20)],
        '',
        { attempts: [anAttempt({ epoch: 1, resumedFrom: { checkpoint: 'tiny-s10', step: 10 } })] },
      ],
      ['tiny-s10 stays', 'tiny-s20 stays'],
    ],
    [
      'a suspect save, beside which nothing goes',
      [[save(10), save(20), save(30, { isSuspect: true })]],
      ['tiny-s10 stays', 'tiny-s20 stays', 'tiny-s30 stays'],
    ],
  ])('knows %s', async (_what, asked, want) => {
    expect(actions(await shown(...asked))).toEqual(want);
  });

  it.each<[string, string, Parameters<typeof shown>[2], RegExp]>([
    ['a job without a policy', '', { saving: { claimName: 'c' } }, /states no spec\.checkpoint\.retention/],
    ['half a policy', '--keep-every-steps 5', {}, /needs --keep-newest-verified/],
    [
      'a policy that keeps none',
      '--keep-newest-verified 0',
      {},
      /--keep-newest-verified is 0; it must be at least 1\./,
    ],
    ['a deleted job', '', { state: 'Deleted' }, /was deleted, so retention follows what its Checkpoints recorded/],
  ])('refuses %s', async (_what, argv, job, words) => {
    expect(await shown([], argv, job)).toMatch(words);
  });
});
