import {
  type Attempt,
  type PlacementSpec,
  type Placement,
  type TrainingJob,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { priceOf } from './price.ts';
import { runningGangs } from './running-gangs.ts';

const layout = aLayout({ dataParallelDegree: 8 });
const NOW = new Date('2026-01-02T00:00:00Z');
const ATTEMPT = anAttempt({
  epoch: 3,
  stage: 'Released',
  placement: 'low-e3',
  layout,
  startedAt: '2026-01-01T23:00:00Z',
});
const SPEC: PlacementSpec = {
  jobName: 'low',
  jobUid: 'low',
  epoch: 3,
  layout,
  worldSize: 8,
  ranksPerPod: 8,
  nodes: ['a0'],
};
const PLACEMENT = { metadata: { name: 'low-e3', namespace: 'team', uid: '' }, spec: SPEC } as Placement;
const began = { firstStep: { step: 1, at: '2026-01-01T23:05:00Z' } };
/** A step of 1 s since the first, the newest reported 10 s ago. */
const progress = { step: 3_291, reportedAt: '2026-01-01T23:59:50Z' };

function gangs(
  status: Partial<TrainingJobStatus>,
  { attempt = {}, spec = {} }: { attempt?: Partial<Attempt>; spec?: Partial<TrainingJob['spec']> } = {},
): ReturnType<typeof runningGangs> {
  const job = aTrainingJob({
    metadata: { name: 'low', namespace: 'team', uid: 'low' },
    spec: { layout, checkpoint: { claimName: 'saves' }, ...spec } as Partial<TrainingJob['spec']>,
    status: { epoch: 3, restarts: { total: 0, charged: 0 }, attempts: [{ ...ATTEMPT, ...attempt }], ...status },
  });
  return runningGangs([job], [PLACEMENT], { savesWhenAsked: () => true, now: NOW });
}

describe('a gang that runs', () => {
  it.each<[string, Parameters<typeof gangs>, object]>([
    [
      'loses its steps since the newest checkpoint',
      [{ progress, checkpoint: { name: 'c', step: 3_231 } }, { attempt: began }],
      { unsavedSeconds: 70 },
    ],
    [
      'loses its steps since the one that it resumed from',
      [{ progress }, { attempt: { ...began, resumedFrom: { checkpoint: 'c', step: 3_281 } } }],
      { unsavedSeconds: 20 },
    ],
    ['loses all its time if no step is known', [{}], { unsavedSeconds: 3_600, savesWhenAsked: false }],
    [
      'loses all its time if it saves nothing',
      [{}, { attempt: began, spec: { checkpoint: undefined } }],
      { unsavedSeconds: 3_600, savesWhenAsked: false },
    ],
    ['saves when asked once it trains', [{}, { attempt: began }], { savesWhenAsked: true }],
    ['takes as long to start as it did', [{}, { attempt: began }], { restartSeconds: 300 }],
    [
      'stalls as its saves did',
      [{}, { attempt: { pace: { steps: 10, inStepsMs: 1, betweenStepsMs: 24_000, saves: 2 } } }],
      { stallSeconds: 12 },
    ],
    [
      'saves next at the next multiple of its interval',
      [
        { progress, checkpoint: { name: 'c', step: 3_231 } },
        {
          attempt: began,
          spec: { checkpoint: { claimName: 'saves', everySteps: 400 } as TrainingJob['spec']['checkpoint'] },
        },
      ],
      { nextSave: { seconds: 3_600 - 3_291 - 10 + 30, afterStep: 3_231 } },
    ],
    ['stalls half a minute if no save was measured', [{}], { stallSeconds: 30 }],
    ['stops already if its attempt does', [{}, { attempt: { stage: 'Stopping' } }], { isStopping: true }],
    ['stops already if its job is suspended', [{}, { spec: { suspend: true } }], { isStopping: true }],
    [
      'has its priority from its class',
      [{ priority: { value: -5 } }],
      { priority: -5, gpus: new Map([['a0', 8]]), epoch: 3 },
    ],
  ])('%s', (_sentence, about, want) => {
    expect(gangs(...about)).toMatchObject([want]);
  });

  it.each<[string, Partial<Attempt>]>([
    ['that has ended', { stage: 'Ended' }],
    ['whose Placement is another one', { placementSha256: '0'.repeat(64) }],
  ])('is none %s', (_sentence, attempt) => {
    expect(gangs({}, { attempt })).toEqual([]);
  });

  it('costs twice as much for each time that it made room in the last day', () => {
    const forClaim = {
      uid: 'urgent',
      epoch: 1,
      priority: 7,
      wayOut: 'Wait' as const,
      deadline: '2026-01-01T12:00:00Z',
    };
    const left = (stoppingAt: string): Attempt => anAttempt({ stage: 'Ended', layout, forClaim, stoppingAt });
    const attempts = [
      left('2025-12-31T23:59:00Z'),
      left('2026-01-01T00:01:00Z'),
      left('2026-01-01T12:00:00Z'),
      ATTEMPT,
    ];
    const [[once], [often]] = [gangs({}), gangs({ attempts })];
    expect(often?.madeRoomFor).toEqual([7, 7]);
    expect(once === undefined || often === undefined ? 0 : priceOf(often) / priceOf(once)).toBe(4);
  });
});
