/** Curves of runs over steps, tokens and time. */
import type { StepPoint } from '@coxswain/api-types';
import { aStepPoint } from '@coxswain/api-types/testing';
import { type Curve, withPoints } from './curve.ts';
import { nearestIndex } from './nearest-index.ts';
import {
  axisFormat,
  hasSeries,
  positionsOf,
  positiveOnly,
  restartsOf,
  type RunAttempt,
  seriesOf,
  smoothed,
  type XAxis,
} from './run-series.ts';

const BEGIN_MS = Date.parse('2026-01-01T00:00:00Z');
/** Each step has 100 tokens and takes a second. */
const point = (step: number, changes: Partial<StepPoint> = {}): StepPoint =>
  aStepPoint({
    ...{ step, tokens: 100, loss: 10 - step, stepTimeMs: 1_000, at: new Date(BEGIN_MS + step * 1_000).toISOString() },
    ...changes,
  });
const curveOf = (...points: readonly StepPoint[]): Curve => withPoints(new Map(), points);
/** Ten steps as one point, whose tokens are a sum. */
const bucket = (step: number): StepPoint =>
  point(step, {
    tokens: 1_000,
    at: new Date(BEGIN_MS + (step + 9) * 1_000).toISOString(),
    bucket: {
      ...{
        lastStep: step + 9,
        steps: 10,
        loss: { min: 1, max: 9 },
        gradNorm: null,
        learningRate: null,
        tokensPerSecond: null,
      },
      stepTimeMs: { min: 1_000, max: 1_000 },
    },
  });

describe('the place of a step', () => {
  it.each<[string, XAxis, Curve, readonly number[] | undefined]>([
    ['over steps is its number', 'steps', curveOf(point(1), point(2)), [1, 2]],
    ['over tokens is what was trained until then', 'tokens', curveOf(point(1), point(2)), [100, 200]],
    ['over tokens counts each step of a point', 'tokens', curveOf(bucket(1), bucket(11)), [1_000, 2_000]],
    ['over tokens counts steps that were not recorded', 'tokens', curveOf(point(1), point(5)), [100, 500]],
    ['over tokens counts steps before the first that was recorded', 'tokens', curveOf(point(11)), [1_100]],
    ['over tokens is unknown if they are not reported', 'tokens', curveOf(point(1, { tokens: null })), undefined],
    ['over time begins with the first step', 'time', curveOf(point(1), point(2)), [1_000, 2_000]],
    [
      'over time begins with the first step of the first point',
      'time',
      curveOf(bucket(1), bucket(11)),
      [10_000, 20_000],
    ],
    [
      'over time has the pause before a restart',
      'time',
      curveOf(point(1), point(2, { epoch: 2, at: new Date(BEGIN_MS + 60_000).toISOString() })),
      [1_000, 60_000],
    ],
    [
      'over time never goes back, although clocks differ',
      'time',
      curveOf(point(1), point(2), point(3, { at: new Date(BEGIN_MS).toISOString() })),
      [1_000, 2_000, 2_000],
    ],
  ])('%s', (_sentence, axis, curve, want) => {
    const positions = positionsOf(curve, axis);
    expect(positions && [...positions.values()]).toEqual(want);
  });
});

describe('a series', () => {
  const curve = curveOf(point(1), point(2), point(8), point(9));
  it('has a gap before the step after it, on each axis', () => {
    expect(seriesOf(curve, 'loss', { axis: 'steps', smoothing: 0 })).toMatchObject({
      x: [1, 2, 3, 8, 9],
      value: [9, 8, null, 2, 1],
      raw: undefined,
    });
    expect(seriesOf(curve, 'loss', { axis: 'tokens', smoothing: 0 })?.x).toEqual([100, 200, 799.5, 800, 900]);
  });

  it('is smoothed beside what was measured', () => {
    expect(seriesOf(curve, 'loss', { axis: 'steps', smoothing: 0.5 })).toMatchObject({ raw: [9, 8, null, 2, 1] });
  });

  it('is none on an axis that the run does not report', () => {
    expect(seriesOf(curveOf(point(1, { tokens: null })), 'loss', { axis: 'tokens', smoothing: 0 })).toBeUndefined();
  });

  it('is there if one step reports it', () => {
    expect(hasSeries(curveOf(point(1, { gradNorm: null })), 'gradNorm')).toBe(false);
    expect(hasSeries(curveOf(point(1, { gradNorm: null }), point(2, { gradNorm: 1 })), 'gradNorm')).toBe(true);
  });
});

it.each<[string, readonly (number | null)[], readonly (number | null)[]]>([
  ['begins at the first value', [8], [8]],
  ['keeps a constant', [3, 3, 3], [3, 3, 3]],
  ['follows slowly', [0, 3], [0, 2]],
  ['keeps gaps', [4, null, 4], [4, null, 4]],
])('smoothing %s', (_sentence, values, want) => {
  expect(smoothed(values, 0.5).map((value) => value && Number(value.toFixed(6)))).toEqual(want);
});

it('a logarithmic axis has no zero', () => {
  expect(positiveOnly([1, 0, -1, null])).toEqual([1, null, null, null]);
});

describe('marks of restarts in place', () => {
  const curve = curveOf(...[1, 2, 3, 4, 5, 6].map((step) => point(step)), point(7, { epoch: 2 }));
  const ended = (incarnation: number, step?: number) => ({
    ...{ incarnation, endedAt: 't', reason: 'EngineFailed' as const, charged: true },
    ...(step === undefined ? {} : { resumedFrom: { checkpoint: 'c', step } }),
  });
  it.each<[string, readonly RunAttempt[], readonly (readonly [number, string])[]]>([
    ['are none in a run that never restarted', [{ epoch: 1, incarnation: 1 }], [[7, 'attempt 2']]],
    [
      'are at the first step after the checkpoint',
      [{ epoch: 1, incarnation: 2, incarnations: [ended(1)], resumedFrom: { checkpoint: 'c', step: 4 } }],
      [
        [5, 'attempt 1.2'],
        [7, 'attempt 2'],
      ],
    ],
    [
      'are at the first step if the ranks began from scratch',
      [{ epoch: 1, incarnation: 2, incarnations: [ended(1)] }],
      [
        [1, 'attempt 1.2'],
        [7, 'attempt 2'],
      ],
    ],
    [
      'name the last of those that began at one step',
      [{ epoch: 1, incarnation: 3, incarnations: [ended(1), ended(2, 4)], resumedFrom: { checkpoint: 'c', step: 4 } }],
      [
        [5, 'attempt 1.3'],
        [7, 'attempt 2'],
      ],
    ],
    [
      'are left out if a later attempt trained the steps again',
      [{ epoch: 1, incarnation: 2, incarnations: [ended(1)], resumedFrom: { checkpoint: 'c', step: 6 } }],
      [[7, 'attempt 2']],
    ],
  ])('%s', (_sentence, attempts, want) => {
    expect(restartsOf(curve, 'steps', attempts).map(({ x, label }) => [x, label])).toEqual(want);
  });
});

it('restarts are marked on each axis', () => {
  const curve = curveOf(point(1), point(2, { epoch: 2 }));
  expect(restartsOf(curve, 'tokens')).toEqual([{ x: 200, label: 'attempt 2' }]);
  expect(restartsOf(curveOf(point(1, { tokens: null }), point(2, { epoch: 2 })), 'tokens')).toEqual([]);
});

describe('an axis', () => {
  it.each<[XAxis, number, number, string]>([
    ['steps', 5, 1_200, '1,200'],
    ['steps', 5, 0.5, ''],
    ['tokens', 5, 1_200_000_000, '1.2B'],
    ['time', 60_000, 30, '30 s'],
    ['time', 3_600_000, 1.5, '1.5 min'],
    ['time', 86_400_000, 12, '12 h'],
    ['time', 864_000_000, 2.25, '2.25 d'],
  ])('of %s to %d writes %d as %j', (axis, greatest, value, want) => {
    expect(axisFormat(axis, greatest).format(value)).toBe(want);
  });
});

it.each<[string, readonly (number | null | undefined)[], number, number]>([
  ['itself', [1, 2, 3], 1, 1],
  ['the nearest that is there', [1, undefined, undefined, 4], 2, 3],
  ['the nearest before it', [1, undefined, null, undefined, null], 2, 0],
  ['itself if there is none', [null, null], 1, 1],
])('under the pointer is %s', (_sentence, values, index, want) => {
  expect(nearestIndex(values, index)).toBe(want);
});
