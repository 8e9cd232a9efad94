import type { RankWatermark } from '@coxswain/api-types';
import { gangOf } from '../gang/gang.ts';
import { HEALTH_SETTINGS } from '../settings.ts';
import { HangDetector } from './hang-detector.ts';

const STEP_MS = 10_000;
const header = {
  kind: 'header' as const,
  version: 1 as const,
  layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 4 },
  nodes: [
    { node: 'a', ranks: '0-1' },
    { node: 'b', ranks: '2-3' },
  ],
  reportEveryMs: 10_000,
};

type GroupMark = readonly [group: string, started: number, completed: number, ageMs: number];

function watermark(rank: number, phaseAgeMs: number, marks: readonly GroupMark[]): RankWatermark {
  const groups = marks.map(([group, started, completed, ageMs]) => ({
    ...{ group, operation: 'all_reduce', bytes: 8 },
    ...{ enqueued: started, started, completed, ageMs },
  }));
  return { rank, step: 40, phase: 'training', phaseAgeMs, groups };
}

/** Of a job with steps of 10 s, what is said once these have told. */
function verdictsOf(ranks: RankWatermark[]): readonly (readonly [string, readonly number[], string])[] {
  const gang = gangOf(header);
  const detector = new HangDetector(gang, HEALTH_SETTINGS);
  for (const group of ['w', 'g']) gang.declare({ kind: 'group', group, name: group, ranks: '0-3' });
  for (let step = 1; step <= 40; step += 1) {
    const timed = [0, 1, 2, 3].map((rank) => ({ rank, stepTimeMs: STEP_MS, timingsMs: {} }));
    detector.observe({ kind: 'step', atMs: step * STEP_MS, step, loss: null, gradNorm: null, ranks: timed });
  }
  const verdicts = detector.observe({ kind: 'watermarks', atMs: 41 * STEP_MS, ranks });
  return verdicts.map(({ kind, ranks: named, action }) => [kind, named, action]);
}

describe('a rank that others wait for', () => {
  const standsFor = (ms: number): RankWatermark[] => [
    watermark(0, ms, [
      ['w', 40, 40, ms],
      ['g', 3, 3, 200_000],
    ]),
    ...[1, 2, 3].map((rank) =>
      watermark(rank, ms, [
        ['w', 41, 40, ms],
        // A thread that saves has waited for long, and for something else.
        ['g', 4, 3, 180_000],
      ]),
    ),
  ];

  it.each([
    [
      'is named and let go on where it has stood for sixteen seconds, however long others have waited elsewhere',
      16,
      'advise',
    ],
    ['is what a gang is ended for once it has stood for five steps', 61, 'evict'],
  ])('%s', (_says, seconds, action) => {
    expect(verdictsOf(standsFor(seconds * 1_000))).toEqual([['hang', [0], action]]);
  });
});
