import { SCHEDULES, type Schedule } from '../facts.ts';
import { usualChunks } from '../testing/schedule-inputs.ts';
import {
  BACKWARD,
  BACKWARD_INPUT,
  BACKWARD_WEIGHT,
  FORWARD,
  PAIRED_FORWARD,
  passOrder,
  hasDeferredWeightPasses,
  type Pass,
} from './pass-order.ts';
import type { ScheduleShape } from './schedule-input.ts';

const isForward = ({ kind }: Pass): boolean => kind === FORWARD || kind === PAIRED_FORWARD;
const isBackward = ({ kind }: Pass): boolean => kind === BACKWARD || kind === BACKWARD_INPUT;

/** Shapes of every schedule: with fewer micro-batches than ranks, as many, and more; even and odd numbers of ranks. */
const SHAPES: readonly ScheduleShape[] = SCHEDULES.flatMap((schedule) =>
  [1, 2, 3, 4, 7].flatMap((pipeline) =>
    [1, 2, 5, 8, 23].flatMap((microBatches) =>
      (schedule === 'interleaved-1f1b' ? [2, 3] : [usualChunks(schedule)]).map((chunks) => ({
        schedule,
        pipeline,
        chunks,
        microBatches,
      })),
    ),
  ),
);
const ofSchedule = (schedule: Schedule) => SHAPES.filter((shape) => shape.schedule === schedule);
const ranksOf = ({ pipeline }: ScheduleShape) => Array.from({ length: pipeline }, (_, rank) => rank);
const everyRank = (schedule: Schedule, check: (order: readonly Pass[], shape: ScheduleShape, rank: number) => void) => {
  for (const shape of ofSchedule(schedule)) {
    for (const rank of ranksOf(shape)) check(passOrder(shape, rank), shape, rank);
  }
};

const named = ({ stage, microBatch }: Pass): string => `${stage}/${microBatch}`;

describe.each(SCHEDULES.map((schedule) => [schedule]))('the order of passes of %s', (schedule) => {
  it('holds one forward and one backward of every micro-batch and chunk of a rank', () => {
    everyRank(schedule, (order, { chunks, microBatches }) => {
      const forwards = order.filter(isForward).map(named);
      const backwards = order.filter(isBackward).map(named);
      expect(new Set(forwards).size).toBe(chunks * microBatches);
      expect(forwards).toHaveLength(chunks * microBatches);
      expect([...backwards].sort()).toEqual([...forwards].sort());
    });
  });

  it('runs a backward behind its forward, and a weight pass behind its input pass', () => {
    everyRank(schedule, (order) => {
      const forwarded = new Set<string>();
      const returned = new Set<string>();
      const early = order.filter((pass) => {
        if (isForward(pass)) forwarded.add(named(pass));
        if (pass.kind === BACKWARD_INPUT) returned.add(named(pass));
        return !forwarded.has(named(pass)) || (pass.kind === BACKWARD_WEIGHT && !returned.has(named(pass)));
      });
      expect(early).toEqual([]);
    });
  });

  it('places weight passes oldest first, or none where they wait for idle time; what is left runs at the end', () => {
    everyRank(schedule, (order, shape) => {
      const inputs = order.filter(({ kind }) => kind === BACKWARD_INPUT).map(named);
      const weights = order.filter(({ kind }) => kind === BACKWARD_WEIGHT).map(named);
      expect(weights).toEqual(hasDeferredWeightPasses(shape) ? [] : inputs.slice(0, weights.length));
    });
  });

  it('takes the micro-batches of a chunk in their order, both ways', () => {
    everyRank(schedule, (order, { microBatches }) => {
      const inOrder = Array.from({ length: microBatches }, (_, microBatch) => microBatch);
      for (const way of [isForward, isBackward]) {
        const passes = order.filter(way);
        for (const chunk of new Set(passes.map(({ stage }) => stage))) {
          const taken = passes.filter(({ stage }) => stage === chunk).map(({ microBatch }) => microBatch);
          expect(taken).toEqual(inOrder);
        }
      }
    });
  });
});

/** Forwards of a rank before its first backward. */
const warmUpOf = (order: readonly Pass[]): number => order.findIndex(isBackward);

describe('forwards before the first backward, with enough micro-batches', () => {
  it.each<[Schedule, string, (pipeline: number, rank: number) => number]>([
    ['gpipe', 'all', () => 40],
    ['1f1b', 'p - r (Narayanan et al. 2021, figure 4)', (p, r) => p - r],
    ['zb-h1', 'as many as 1F1B (2401.10241, figure 2)', (p, r) => p - r],
    ['zb-2p', '2 (p - r) - 1 (2401.10241, section 2.2)', (p, r) => 2 * (p - r) - 1],
    [
      'zbv',
      '2 (p - r) - 1, then r pairs, then one (PyTorch, ScheduleZBVZeroBubble)',
      (p, r) => 2 * (p - r) - 1 + 2 * r + 1,
    ],
    [
      'dualpipe-v',
      '2 (p - r - 1), then r + 1 pairs (PyTorch, ScheduleDualPipeV); the last rank turns its own around',
      (p, r) => 2 * (p - r - 1) + 2 * (r + 1) + (r === p - 1 ? 1 : 0),
    ],
  ])('%s: %s', (schedule, _, closed) => {
    for (const pipeline of [2, 3, 4, 6, 9]) {
      const shape = { schedule, pipeline, chunks: usualChunks(schedule), microBatches: 40 };
      const forwards = ranksOf(shape).map((rank) => {
        const order = passOrder(shape, rank);
        // Of a pair both begin together: its forward is no warm-up.
        const paired = order[warmUpOf(order) - 1]?.kind === PAIRED_FORWARD ? 1 : 0;
        return warmUpOf(order) - paired;
      });
      expect(forwards).toEqual(ranksOf(shape).map((rank) => closed(pipeline, rank)));
    }
  });

  it('never more than there are', () => {
    for (const schedule of SCHEDULES) {
      everyRank(schedule, (order, { chunks, microBatches }) => {
        expect(warmUpOf(order)).toBeLessThanOrEqual(chunks * microBatches);
      });
    }
  });
});

describe('interleaved 1F1B', () => {
  /** Megatron-Core, pipeline_parallel/schedules.py: `get_pp_rank_microbatches`, and chunk and micro-batch of the k-th forward. */
  function megatronOrder({ pipeline: p, chunks: v, microBatches: m }: ScheduleShape, rank: number): readonly string[] {
    const total = m * v;
    const warmUp = Math.min(total, 2 * (p - rank - 1) + (v - 1) * p);
    const chunkOf = (k: number) => Math.floor((k % (p * v)) / p);
    const microBatchOf = (k: number) => Math.floor(k / (p * v)) * p + (k % p);
    const forward = (k: number) => `F${chunkOf(k) * p + rank}/${microBatchOf(k)}`;
    const backward = (k: number) => `B${(v - 1 - chunkOf(k)) * p + rank}/${microBatchOf(k)}`;
    const order: string[] = [];
    for (let k = 0; k < warmUp; k++) order.push(forward(k));
    for (let k = 0; k < total - warmUp; k++) order.push(forward(k + warmUp), backward(k));
    for (let k = total - warmUp; k < total; k++) order.push(backward(k));
    return order;
  }

  it.each([
    [2, 2, 4],
    [4, 2, 8],
    [4, 3, 12],
    [3, 4, 3],
    [8, 2, 32],
  ])(
    'on %d ranks with %d chunks and %d micro-batches is the order of Megatron-Core',
    (...[pipeline, chunks, microBatches]) => {
      const shape: ScheduleShape = { schedule: 'interleaved-1f1b', pipeline, chunks, microBatches };
      for (const rank of ranksOf(shape)) {
        const order = passOrder(shape, rank).map((pass) => `${isForward(pass) ? 'F' : 'B'}${named(pass)}`);
        expect(order).toEqual(megatronOrder(shape, rank));
      }
    },
  );

  it('with one chunk warms up twice as far as 1F1B, and is otherwise its order', () => {
    const shape = { pipeline: 4, chunks: 1, microBatches: 12 };
    const interleaved = passOrder({ ...shape, schedule: 'interleaved-1f1b' }, 3);
    expect(interleaved).toEqual(passOrder({ ...shape, schedule: '1f1b' }, 3));
    expect(warmUpOf(passOrder({ ...shape, schedule: 'interleaved-1f1b' }, 0))).toBe(2 * 3 + 1);
  });
});

describe('zero-bubble and V-shaped orders', () => {
  it('of ZB-H1 delay the weight pass of a rank by as many backwards as ranks stand before it (2401.10241, section 2.1)', () => {
    const shape: ScheduleShape = { schedule: 'zb-h1', pipeline: 4, chunks: 1, microBatches: 12 };
    const delays = ranksOf(shape).map((rank) => {
      const order = passOrder(shape, rank);
      const firstWeight = order.findIndex(({ kind }) => kind === BACKWARD_WEIGHT);
      return order.slice(0, firstWeight).filter(isBackward).length - 1;
    });
    expect(delays).toEqual([0, 1, 2, 3]);
  });

  it.each([
    [0, 8 - 4 * 2 + 0 + 1],
    [1, 12 - 4 * 2 + 1 + 1],
    [3, 20 - 4 * 2 + 3 + 1],
  ])('of DualPipeV on rank %d of four overlap %d pairs of both chunks in the steady phase', (rank, steady) => {
    const microBatches = [8, 12, 16, 20][rank] ?? 0;
    const shape: ScheduleShape = { schedule: 'dualpipe-v', pipeline: 4, chunks: 2, microBatches };
    const order = passOrder(shape, rank);
    const paired = order.filter(({ kind }) => kind === PAIRED_FORWARD).length;
    // Two forwards per steady turn and one per turn of the way out; the last rank does not pair the very first.
    expect(paired).toBe(2 * steady + (4 - 1 - rank) - (rank === 3 ? 1 : 0));
    order.forEach((pass, at) => {
      if (pass.kind === PAIRED_FORWARD) expect(order[at + 1]?.kind).toBe(BACKWARD);
    });
  });

  it.each<[Schedule, number, string, string]>([
    ['v-half', 0, '0 6 10 12 14', 'F0/0 F0/1 F7/0 F0/2 B7/0'],
    ['v-half', 3, '6 7 12 13 18 19 20', 'F3/0 F4/0 F3/1 F4/1 F3/2 F4/2 B4/0'],
    ['v-min', 0, '0 6 7 8 12', 'F0/0 F0/1 F7/0 B7/0 F0/2'],
    ['v-min', 3, '3 4 9 10 11', 'F3/0 F4/0 F3/1 F4/1 B4/0'],
  ])('%s on rank %d of four starts passes in slots %s of its building block: %s', (schedule, rank, slots, begins) => {
    const order = passOrder({ schedule, pipeline: 4, chunks: 2, microBatches: 12 }, rank).filter(
      ({ kind }) => kind !== BACKWARD_WEIGHT,
    );
    const first = order.slice(0, slots.split(' ').length).map((pass) => `${isForward(pass) ? 'F' : 'B'}${named(pass)}`);
    expect(first.join(' ')).toBe(begins);
  });

  it('of V-Min put a weight pass into the first slot that is free behind its input pass', () => {
    const order = passOrder({ schedule: 'v-min', pipeline: 4, chunks: 2, microBatches: 12 }, 3);
    const kinds = order.slice(4, 12).map(({ kind, microBatch }) => `${'FI?W'[kind] ?? ''}${microBatch}`);
    // Input passes of both chunks in slots 11 and 12, weight passes in 13 and 14, then the forwards of slots 15 and 16.
    expect(kinds.join(' ')).toBe('I0 I0 W0 W0 F2 F2 I1 I1');
  });
});

describe('without a pipeline', () => {
  it.each(SCHEDULES.map((schedule) => [schedule]))('%s is gradient accumulation', (schedule) => {
    const order = passOrder({ schedule, pipeline: 1, chunks: 2, microBatches: 2 }, 0);
    expect(order.map((pass) => `${isForward(pass) ? 'F' : 'B'}${named(pass)}`).join(' ')).toBe(
      'F0/0 F1/0 B1/0 B0/0 F0/1 F1/1 B1/1 B0/1',
    );
  });
});
