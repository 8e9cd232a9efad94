/** Jobs of the second generator, and what should be said of each. */
import type { VerdictKind } from '../../verdict/verdict.ts';
import { type OtherJob, otherJob } from './other-job.ts';

export interface OtherCase {
  readonly name: string;
  readonly job: OtherJob;
  /** What must be said, of exactly these ranks; nothing else but statements may be. */
  readonly expected: readonly { readonly kind: VerdictKind; readonly ranks: readonly number[] }[];
  /** Also right where it is said. */
  readonly mayBe?: readonly VerdictKind[];
  /** When the fault begins. */
  readonly onsetStep?: number;
}

const layout = (tensorParallelDegree: number, pipelineParallelDegree: number, dataParallelDegree: number) => ({
  tensorParallelDegree,
  pipelineParallelDegree,
  dataParallelDegree,
});
const ONSET = 60;
const from =
  (ranks: readonly number[], factor: number, until = Infinity) =>
  (rank: number, step: number): number =>
    ranks.includes(rank) && step >= ONSET && step < until ? factor : 1;
const slow = (...ranks: readonly number[]) => [{ kind: 'slowRank' as const, ranks }];
const node = (index: number): readonly number[] => Array.from({ length: 8 }, (_, at) => 8 * index + at);

/** Nobody is to blame, and nothing is to be said. */
export const OTHER_CLEAN: readonly OtherCase[] = [
  { name: 'noise 3 %', job: otherJob({}), expected: [] },
  { name: 'noise 5 %, chips unlike by 2 %', job: otherJob({ noise: 0.05, chips: 0.02 }), expected: [] },
  { name: 'noise 5 %, eight ranks', job: otherJob({ layout: layout(1, 1, 8), noise: 0.05, steps: 600 }), expected: [] },
  {
    name: 'noise 5 %, eight ranks in four stages',
    job: otherJob({ layout: layout(1, 4, 2), noise: 0.05, steps: 600 }),
    expected: [],
  },
  { name: 'only step times', job: otherJob({ timings: 'whole' }), expected: [] },
  {
    name: 'parts of every eighth step',
    job: otherJob({ timings: 'sampled', stepMs: 1_000, steps: 900, noise: 0.05, chips: 0.02 }),
    expected: [],
  },
  {
    name: 'parts of every eighth step, all slower alike',
    job: otherJob({ timings: 'sampled', stepMs: 1_000, steps: 900, pace: (step) => 1 + 0.08 * (step / 900) }),
    expected: [],
  },
  { name: 'sequences of the whole batch', job: otherJob({ batches: 0.25 }), expected: [] },
  { name: 'a drift of a tenth', job: otherJob({ pace: (step) => 1 + 0.1 * (step / 400) }), expected: [] },
  { name: 'a warm-up', job: otherJob({ pace: (step) => (step < 20 ? 4 - step * 0.15 : 1) }), expected: [] },
  { name: 'evaluations', job: otherJob({ evaluatesEvery: [50, 300_000] }), expected: [], mayBe: [] },
  { name: 'saves', job: otherJob({ savesEvery: [25, 45_000] }), expected: [] },
  { name: 'a restart', job: otherJob({ restart: { at: 120, back: 40, afterMs: 120_000 } }), expected: [] },
  { name: 'ranks that are heard of late', job: otherJob({ late: { from: 32, untilStep: 40 } }), expected: [] },
  { name: 'a third of reports lost, a third late', job: otherJob({ lost: 0.33, reordered: 0.33 }), expected: [] },
  { name: 'a clock that jumps by an hour', job: otherJob({ clockStep: [100, 3_600_000] }), expected: [] },
  { name: 'a clock that goes back by an hour', job: otherJob({ clockStep: [100, -500_000] }), expected: [] },
  { name: 'steps of half an hour', job: otherJob({ stepMs: 1_800_000, steps: 60 }), expected: [] },
  { name: 'norms and losses that swing', job: otherJob({ lossOf: (_, random) => random.normal() }), expected: [] },
];

export const OTHER_FAULTS: readonly OtherCase[] = [
  { name: 'a rank 20 % slower', job: otherJob({ slow: from([5], 1.2) }), expected: slow(5) },
  {
    name: 'a rank 10 % slower, noise 4 %',
    job: otherJob({ slow: from([5], 1.1), noise: 0.04, stepMs: 4_000 }),
    expected: slow(5),
  },
  {
    name: 'a rank of eight 20 % slower',
    job: otherJob({ layout: layout(1, 1, 8), slow: from([5], 1.2) }),
    expected: slow(5),
  },
  {
    name: 'a rank of eight in eight stages 30 % slower',
    job: otherJob({ layout: layout(1, 8, 1), slow: from([5], 1.3) }),
    expected: slow(5),
  },
  {
    name: 'a rank 50 % slower, only its waiting told',
    job: otherJob({ slow: from([5], 1.5), timings: 'waiting' }),
    expected: slow(5),
  },
  {
    name: 'a rank 20 % slower, parts of every eighth step told',
    job: otherJob({ slow: from([5], 1.2), timings: 'sampled', stepMs: 1_000, steps: 600 }),
    expected: slow(5),
  },
  {
    name: 'a rank of four half as long again, parts of every eighth step told',
    job: otherJob({ layout: layout(1, 1, 4), slow: from([3], 1.5), timings: 'sampled', stepMs: 1_000, steps: 600 }),
    expected: slow(3),
  },
  { name: 'a node 15 % slower', job: otherJob({ slow: from(node(2), 1.15) }), expected: slow(...node(2)) },
  {
    name: 'a node of two 15 % slower',
    job: otherJob({ layout: layout(1, 1, 16), slow: from(node(1), 1.15) }),
    expected: slow(...node(1)),
  },
  {
    name: 'a rank 50 % slower with sequences of the whole batch',
    job: otherJob({ batches: 0.25, slow: from([9], 1.5) }),
    expected: slow(9),
  },
  {
    name: 'a rank 50 % slower in steps of half an hour',
    job: otherJob({ stepMs: 1_800_000, steps: 90, slow: from([9], 1.5) }),
    expected: slow(9),
  },
  {
    name: 'two ranks 20 and 40 % slower',
    job: otherJob({ slow: (rank, step) => from([5], 1.2)(rank, step) * from([40], 1.4)(rank, step) }),
    expected: [...slow(5), ...slow(40)],
  },
  {
    name: 'a rank that is slow for two minutes',
    job: otherJob({ slow: from([5], 1.4, ONSET + 18) }),
    expected: [],
  },
  {
    name: 'a rank 20 % slower after a restart',
    job: otherJob({ slow: from([5], 1.2), restart: { at: 50, back: 40, afterMs: 120_000 } }),
    expected: slow(5),
  },
  {
    name: 'uneven stages and a rank 25 % slower',
    job: otherJob({ layout: layout(2, 4, 8), stages: [0.8, 1, 1, 1.3], slow: from([3], 1.25) }),
    expected: slow(3),
    mayBe: ['stageImbalance'],
  },
  {
    name: 'unlike samples, not told',
    job: otherJob({ layout: layout(4, 1, 16), samples: 0.2 }),
    expected: [{ kind: 'sequenceImbalance', ranks: [] }],
  },
  {
    name: 'unlike samples, told, and a rank 30 % slower',
    job: otherJob({ layout: layout(4, 1, 16), samples: 0.2, tellsWork: true, slow: from([7], 1.3) }),
    expected: [...slow(7), { kind: 'sequenceImbalance', ranks: [] }],
  },
  {
    name: 'a host that waits for data',
    job: otherJob({ data: (rank, step) => (step >= ONSET && rank >= 16 && rank < 24 ? 0.4 : 0.01) }),
    expected: [{ kind: 'hostDataStall', ranks: node(2) }],
  },
  {
    name: 'storage that is slow for those that load',
    job: otherJob({ data: (rank, step) => (rank % 8 === 0 ? (step >= ONSET ? 0.4 : 0.01) : 0) }),
    expected: [{ kind: 'sharedDataStall', ranks: [] }],
  },
  {
    name: 'a job 25 % slower',
    job: otherJob({ pace: (step) => (step >= ONSET ? 1.25 : 1), noise: 0.05 }),
    expected: [{ kind: 'slowJob', ranks: [] }],
  },
];
