/** Which saves that were passed over become incidents, and when do they close? */
import type { Attempt, Checkpoint, Incident, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import { isPassedSave } from './note-passed-saves.ts';
import { aCheckpoint } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, NOW } from '../testing/jobs.ts';

type Verdict = NonNullable<NonNullable<Checkpoint['status']>['verification']>['verdict'];

const FROM = { checkpoint: 'save-20', step: 20 };
const ENDED = { stage: 'Ended', outcome: 'Failed', reason: 'NodeLost', endedAt: EARLIER } as const;

/** A save of attempt 1; its verification found this. */
function aSave(job: TrainingJob, step: number, verdict: Verdict): Checkpoint {
  const checkpoint = aCheckpoint(job, { spec: { step } });
  const findings = verdict === 'sound' ? [] : [{ kind: verdict, message: `File s${step} is not there.` }];
  const verification = {
    level: 'V1',
    verdict,
    at: EARLIER,
    by: 'Worker',
    node: 'node-a',
    readBytes: 1,
    findings,
  } as const;
  return {
    ...checkpoint,
    metadata: { ...checkpoint.metadata, name: `save-${step}` },
    status: { state: 'Complete', verification: { ...verification, findings: [...findings] } },
  };
}

/** Incidents of the second attempt, which resumed from step 20, once the job is looked at. */
function incidents(
  saves: readonly (readonly [step: number, verdict: Verdict])[],
  second: Partial<Attempt> = {},
  status: Partial<TrainingJobStatus> = {},
): readonly Incident[] {
  const attempts = [anAttempt(ENDED), anAttempt({ epoch: 2, resumedFrom: FROM, ...second })];
  const seen = aRunningJob({ status: { ...status, attempts }, pods: () => [] });
  const checkpoints = saves.map(([step, verdict]) => aSave(seen.job, step, verdict));
  return decide({ ...seen, checkpoints }, NOW).status.incidents ?? [];
}

const SAVES = [
  [40, 'incomplete'],
  [30, 'damaged'],
  [20, 'sound'],
  [10, 'damaged'],
] as const;

it('each broken save that is newer than the one that is used is an incident, which names both', () => {
  expect(incidents(SAVES).filter(isPassedSave)).toMatchObject([
    {
      id: '2.1-savePassedOver-e1i1s40',
      step: 40,
      node: 'node-a',
      action: 'None',
      message:
        'Checkpoint save-40 (step 40) is incomplete, as a verification of its bytes on node-a found: File s40 is not there. Training resumes from checkpoint save-20 (step 20) instead, and repeats 20 more steps.',
    },
    {
      id: '2.1-savePassedOver-e1i1s30',
      message: expect.stringMatching(/^Checkpoint save-30 .* 10 more steps\.$/) as string,
    },
  ]);
});

it.each<[what: string, ...about: Parameters<typeof incidents>]>([
  ['a sound save', [[40, 'sound']]],
  ['a save whose content cannot be verified', [[40, 'unverifiable']]],
  ['a save that is broken, after the first step', SAVES, { firstStep: { step: 21, at: EARLIER } }],
  ['a user who chose an older checkpoint', SAVES, {}, { resumeFrom: { from: 'save-20', epoch: 2 } }],
  ['a run from scratch', SAVES, { resumedFrom: undefined }],
])('%s makes none', (_what, ...about) => {
  expect(incidents(...about).filter(isPassedSave)).toEqual([]);
});

it('it is recorded once, and closes with the first step after the restore', () => {
  const open = incidents(SAVES);
  expect(incidents(SAVES, {}, { incidents: [...open] })).toEqual(open);
  const firstStep = { step: 21, at: '2026-01-01T00:15:00Z' };
  const closed = incidents(SAVES, { firstStep }, { incidents: [...open] });
  expect(closed.map(({ outcome, closedAt }) => [outcome, closedAt])).toEqual(
    open.map(() => ['Recovered', firstStep.at]),
  );
});
