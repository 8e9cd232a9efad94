import { isDomainError } from '@coxswain/domain-error';
import { SCHEDULES, type Schedule } from '../facts.ts';
import { rankOfStage } from '../stages.ts';
import { anEvenSchedule, usualChunks } from '../testing/schedule-inputs.ts';
import { peakInFlight } from './in-flight.ts';
import { makespanOf } from './makespan.ts';
import { assertScheduleInput, assertScheduleShape, stageOfRank, type ScheduleShape } from './schedule-input.ts';
import { orderOfPasses, simulateSchedule, timelineOf } from './simulate.ts';

const SHAPE: ScheduleShape = { schedule: '1f1b', pipeline: 4, chunks: 1, microBatches: 8 };

function refusalOf(act: () => void): { readonly pointer: string | undefined; readonly detail: string | undefined } {
  try {
    act();
  } catch (error) {
    if (!isDomainError(error, 'INVALID_REQUEST')) throw error;
    const [violation] = error.violations;
    expect(error.message).toBe(violation?.detail);
    return { pointer: violation?.pointer, detail: violation?.detail };
  }
  throw new Error('nothing was refused');
}

describe('a shape that no schedule has', () => {
  it.each<[Partial<ScheduleShape>, string, string]>([
    [{ pipeline: 0 }, '/pipeline', 'pipeline must be a whole number of at least 1, got 0'],
    [{ pipeline: 2.5 }, '/pipeline', 'pipeline must be a whole number of at least 1, got 2.5'],
    [{ chunks: -1 }, '/chunks', 'chunks must be a whole number of at least 1, got -1'],
    [{ microBatches: 0 }, '/microBatches', 'microBatches must be a whole number of at least 1, got 0'],
    [{ microBatches: NaN }, '/microBatches', 'microBatches must be a whole number of at least 1, got NaN'],
    [
      { chunks: 2 },
      '/chunks',
      'schedule 1f1b runs with chunks 1 per rank, got 2: set chunks to 1 or use interleaved-1f1b',
    ],
    [{ schedule: 'v-min' }, '/chunks', 'schedule v-min runs with chunks 2 per rank, got 1: set chunks to 2'],
    [
      { schedule: 'dualpipe-v', chunks: 3 },
      '/chunks',
      'schedule dualpipe-v runs with chunks 2 per rank, got 3: set chunks to 2',
    ],
  ])('%j is refused with field, value, rule and what to do instead', (change, pointer, detail) => {
    expect(refusalOf(() => assertScheduleShape({ ...SHAPE, ...change }))).toEqual({ pointer, detail });
  });

  const wrong: ScheduleShape = { ...SHAPE, schedule: 'zbv', chunks: 3 };
  it.each<[string, () => unknown]>([
    ['makespanOf', () => makespanOf(anEvenSchedule(wrong))],
    ['simulateSchedule', () => simulateSchedule(anEvenSchedule(wrong))],
    ['timelineOf', () => timelineOf(anEvenSchedule(wrong))],
    ['orderOfPasses', () => orderOfPasses(wrong)],
    ['peakInFlight', () => peakInFlight(wrong, 0)],
  ])('is refused by %s', (_, act) => {
    expect(act).toThrow('schedule zbv runs with chunks 2 per rank, got 3');
  });
});

describe('a shape that some schedule has', () => {
  it.each(SCHEDULES.map((schedule) => [schedule]))(
    '%s runs with its usual chunks on any number of ranks',
    (schedule) => {
      for (const pipeline of [1, 2, 3, 17]) {
        const shape = { schedule, pipeline, chunks: usualChunks(schedule), microBatches: 1 };
        expect(() => assertScheduleShape(shape)).not.toThrow();
      }
    },
  );

  it.each(SCHEDULES.map((schedule) => [schedule]))('%s runs with any number of chunks on one rank', (schedule) => {
    expect(() => assertScheduleShape({ schedule, pipeline: 1, chunks: 7, microBatches: 1 })).not.toThrow();
  });

  it('interleaving runs with any number of chunks, one too', () => {
    for (const chunks of [1, 2, 5]) {
      expect(() => assertScheduleShape({ ...SHAPE, schedule: 'interleaved-1f1b', chunks })).not.toThrow();
    }
  });
});

describe('times that do not cover every virtual stage', () => {
  const input = anEvenSchedule({ schedule: 'interleaved-1f1b', pipeline: 4, chunks: 2, microBatches: 8 });

  it.each(['forwardS', 'backwardInputS', 'backwardWeightS', 'forwardHopS', 'backwardHopS'] as const)(
    '%s must have one entry per stage',
    (field) => {
      const short = { ...input, [field]: new Float64Array(7) };
      expect(refusalOf(() => assertScheduleInput(short))).toEqual({
        pointer: `/${field}`,
        detail: `${field} has 7 entries, but pipeline * chunks is 8: give one per virtual stage`,
      });
      expect(() => assertScheduleInput({ ...input, [field]: new Float64Array(9) })).not.toThrow();
    },
  );
});

describe('stageOfRank', () => {
  it.each<[Schedule, number, readonly (readonly number[])[]]>([
    [
      'interleaved-1f1b',
      3,
      [
        [0, 4, 8],
        [1, 5, 9],
        [2, 6, 10],
        [3, 7, 11],
      ],
    ],
    [
      'zbv',
      2,
      [
        [0, 7],
        [1, 6],
        [2, 5],
        [3, 4],
      ],
    ],
  ])('%s with %d chunks gives the ranks of four the stages %j', (schedule, chunks, want) => {
    const shape = { schedule, pipeline: 4, chunks, microBatches: 1 };
    const stages = want.map((_, rank) =>
      Array.from({ length: chunks }, (_chunk, chunk) => stageOfRank(shape, rank, chunk)),
    );
    expect(stages).toEqual(want);
  });

  it('answers the other way round what rankOfStage does', () => {
    for (const schedule of SCHEDULES) {
      for (const pipeline of [1, 2, 5]) {
        const shape = { schedule, pipeline, chunks: usualChunks(schedule), microBatches: 1 };
        for (let rank = 0; rank < pipeline; rank++) {
          for (let chunk = 0; chunk < shape.chunks; chunk++) {
            expect(rankOfStage(shape, stageOfRank(shape, rank, chunk))).toBe(rank);
          }
        }
      }
    }
  });
});
