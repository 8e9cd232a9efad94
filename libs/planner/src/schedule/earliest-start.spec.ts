import fc from 'fast-check';
import { SCHEDULES, type Schedule } from '../facts.ts';
import { rankOfStage } from '../stages.ts';
import { usualChunks } from '../testing/schedule-inputs.ts';
import { makespanOf } from './makespan.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { timelineOf, type TimedPass } from './simulate.ts';

/** DualPipeV runs pairs of passes, which a list of passes does not tell apart. */
const UNPAIRED = SCHEDULES.filter((schedule) => schedule !== 'dualpipe-v');

function inputs(schedules: readonly Schedule[]): fc.Arbitrary<ScheduleInput> {
  return fc
    .record({
      schedule: fc.constantFrom(...schedules),
      pipeline: fc.integer({ min: 1, max: 5 }),
      interleavedChunks: fc.integer({ min: 1, max: 3 }),
      microBatches: fc.integer({ min: 1, max: 12 }),
    })
    .chain(({ interleavedChunks, ...shape }) => {
      const chunks = shape.schedule === 'interleaved-1f1b' ? interleavedChunks : usualChunks(shape.schedule);
      const stages = shape.pipeline * chunks;
      const times = fc
        .array(fc.integer({ min: 0, max: 40 }), { minLength: stages, maxLength: stages })
        .map((ticks) => Float64Array.from(ticks, (tick) => tick / 8));
      return fc.record({
        schedule: fc.constant(shape.schedule),
        pipeline: fc.constant(shape.pipeline),
        chunks: fc.constant(chunks),
        microBatches: fc.constant(shape.microBatches),
        forwardS: times,
        backwardInputS: times,
        backwardWeightS: times,
        forwardHopS: times,
        backwardHopS: times,
        p2p: fc.constantFrom('blocking' as const, 'overlapped' as const),
      });
    });
}

interface Times {
  readonly startS: number;
  readonly endS: number;
  /** When the rank can go on: behind a blocking message, when that has arrived. */
  readonly freeS: number;
  /** When what it sends arrives. */
  readonly arrivesS: number;
}

/** When every pass can start, given which passes each rank runs one after the other: asked of one pass at a time, backwards from the last. */
class EarliestTimes {
  readonly #input: ScheduleInput;
  readonly #passes = new Map<string, TimedPass>();
  readonly #before = new Map<TimedPass, TimedPass>();
  readonly #known = new Map<TimedPass, Times>();

  constructor(input: ScheduleInput, timeline: readonly TimedPass[]) {
    this.#input = input;
    timeline.forEach((pass, at) => {
      const name = pass.kind === 'backward' ? 'backward-input' : pass.kind;
      this.#passes.set(`${name} ${pass.stage} ${pass.microBatch}`, pass);
      const before = timeline[at - 1];
      if (before !== undefined && before.rank === pass.rank) this.#before.set(pass, before);
    });
  }

  of(pass: TimedPass): Times {
    const known = this.#known.get(pass);
    if (known !== undefined) return known;
    const before = this.#before.get(pass);
    const startS = Math.max(before === undefined ? 0 : this.of(before).freeS, this.#neededAtS(pass));
    const endS = startS + this.#durationS(pass);
    const arrivesS = endS + this.#sendS(pass);
    const freeS = this.#input.p2p === 'blocking' ? arrivesS : endS;
    const times = { startS, endS, freeS, arrivesS };
    this.#known.set(pass, times);
    return times;
  }

  #named(name: string, stage: number, microBatch: number): Times {
    const pass = this.#passes.get(`${name} ${stage} ${microBatch}`);
    if (pass === undefined) throw new Error(`there is no ${name} of micro-batch ${microBatch} on stage ${stage}`);
    return this.of(pass);
  }

  #neededAtS({ kind, stage, microBatch }: TimedPass): number {
    if (kind === 'backward-weight') return this.#named('backward-input', stage, microBatch).endS;
    if (kind === 'forward') return stage === 0 ? 0 : this.#named('forward', stage - 1, microBatch).arrivesS;
    const isLast = stage === this.#input.pipeline * this.#input.chunks - 1;
    return isLast
      ? this.#named('forward', stage, microBatch).endS
      : this.#named('backward-input', stage + 1, microBatch).arrivesS;
  }

  #durationS({ kind, stage }: TimedPass): number {
    const { forwardS, backwardInputS, backwardWeightS } = this.#input;
    if (kind === 'forward') return forwardS[stage] ?? 0;
    if (kind === 'backward-weight') return backwardWeightS[stage] ?? 0;
    return (backwardInputS[stage] ?? 0) + (kind === 'backward' ? (backwardWeightS[stage] ?? 0) : 0);
  }

  #sendS({ kind, stage }: TimedPass): number {
    const to = kind === 'forward' ? stage + 1 : stage - 1;
    if (kind === 'backward-weight' || to < 0 || to >= this.#input.pipeline * this.#input.chunks) return 0;
    if (rankOfStage(this.#input, to) === rankOfStage(this.#input, stage)) return 0;
    return (kind === 'forward' ? this.#input.forwardHopS[stage] : this.#input.backwardHopS[to]) ?? 0;
  }
}

describe('a rank that runs its passes in order', () => {
  it('starts each of them as soon as it can, neither earlier nor later', () => {
    fc.assert(
      fc.property(inputs(UNPAIRED), (input) => {
        const timeline = timelineOf(input);
        const earliest = new EarliestTimes(input, timeline);
        const moved = timeline.filter((pass) => Math.abs(pass.startS - earliest.of(pass).startS) > 1e-9);
        expect(moved).toEqual([]);
      }),
    );
  });

  it('takes from its first pass to its last what makespanOf says of the busiest rank', () => {
    fc.assert(
      fc.property(inputs(UNPAIRED), (input) => {
        const timeline = timelineOf(input);
        const earliest = new EarliestTimes(input, timeline);
        const takenS = Array.from({ length: input.pipeline }, (_, rank) => {
          const times = timeline.filter((pass) => pass.rank === rank).map((pass) => earliest.of(pass));
          return Math.max(...times.map(({ freeS }) => freeS)) - Math.min(...times.map(({ startS }) => startS));
        });
        const fused = ['gpipe', '1f1b', 'interleaved-1f1b'].includes(input.schedule);
        const allS = Math.max(...timeline.map((pass) => earliest.of(pass).freeS));
        // With a fused backward the first rank starts at 0 and ends last, so both are one.
        expect(makespanOf(input)).toBeCloseTo(fused ? allS : Math.max(...takenS), 6);
      }),
    );
  });
});

describe('weight passes that wait', () => {
  it('are the only passes whose place depends on times', () => {
    const fixed: readonly Schedule[] = ['gpipe', '1f1b', 'interleaved-1f1b', 'zb-h1', 'v-min', 'dualpipe-v'];
    const ordered = (input: ScheduleInput) =>
      timelineOf(input).map(({ kind, rank, stage, microBatch }) => `${kind} ${rank} ${stage} ${microBatch}`);
    fc.assert(
      fc.property(inputs(fixed), (input) => {
        const even = input.forwardS.map(() => 1);
        const other = { ...input, forwardS: even, backwardInputS: even, backwardWeightS: even, forwardHopS: even };
        expect(ordered(other)).toEqual(ordered(input));
      }),
    );
  });

  it('never leave a rank idle while they are owed, but for a hundredth of their own length', () => {
    fc.assert(
      fc.property(inputs(['zb-2p', 'zbv', 'v-half']), (given) => {
        const input: ScheduleInput = { ...given, p2p: 'overlapped' };
        const timeline = timelineOf(input);
        const idle = timeline.filter((pass, at) => {
          const before = timeline[at - 1];
          if (before === undefined || before.rank !== pass.rank || pass.kind === 'backward-weight') return false;
          const run = timeline.filter(({ rank }) => rank === pass.rank);
          const done = run.slice(0, run.indexOf(pass));
          const owed = run.find(
            ({ kind, stage, microBatch }) =>
              kind === 'backward-weight' &&
              done.some(
                (one) => one.kind === 'backward-input' && one.stage === stage && one.microBatch === microBatch,
              ) &&
              !done.some((one) => one.kind === kind && one.stage === stage && one.microBatch === microBatch),
          );
          const weightS = owed === undefined ? Infinity : (input.backwardWeightS[owed.stage] ?? 0);
          return pass.startS - before.endS > 0.01 * weightS + 1e-9;
        });
        expect(idle).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
