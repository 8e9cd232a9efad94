/** What does each rank do in a step? Its calls in order, from layout and schedule; nothing here knows of detectors. */
import { coordinatesOfRank, groupsOfAxis, type ParallelLayout, worldSize } from '@coxswain/layout';

export interface ModelGroup {
  readonly group: string;
  readonly name: string;
  readonly ranks: readonly number[];
  /** Of one operation between healthy members. */
  readonly transferMs: number;
}

export type Call =
  | {
      readonly kind: 'compute';
      readonly part: 'forward' | 'backward' | 'optimizer' | 'data' | 'saving';
      readonly ms: number;
    }
  | {
      readonly kind: 'operation';
      readonly group: number;
      readonly operation: string;
      readonly bytes: number;
      /** false: a send, after which the rank goes on. */
      readonly waits: boolean;
    };

export interface StepModel {
  readonly layout: ParallelLayout;
  readonly ranks: number;
  readonly groups: readonly ModelGroup[];
  /** Per rank its calls of an ordinary step. */
  readonly programs: readonly (readonly Call[])[];
  /** Index of the group of all ranks. */
  readonly world: number;
}

const FORWARD_MS = 80;
const BACKWARD_MS = 160;

/** 1F1B over the stages, tensor-parallel operations in each pass, gradients over data, then all ranks (norm of gradients), then the optimizer. */
export function stepModel(layout: ParallelLayout, microBatches: number): StepModel {
  const groups: ModelGroup[] = [];
  const groupsOf = new Map<string, number>();
  const add = (name: string, ranks: readonly number[], transferMs: number): void => {
    const id = `${name}-${groups.length}`;
    for (const rank of ranks) groupsOf.set(`${name} ${rank}`, groups.length);
    groups.push({ group: id, name, ranks, transferMs });
  };
  for (const ranks of groupsOfAxis(layout, 'tensor')) if (ranks.length > 1) add('tensor', ranks, 4);
  for (const ranks of groupsOfAxis(layout, 'data')) if (ranks.length > 1) add('data', ranks, 180);
  for (const ranks of groupsOfAxis(layout, 'pipeline')) {
    ranks.slice(1).forEach((to, index) => {
      const from = ranks[index] ?? 0;
      for (const [name, pair] of [
        ['activations', [from, to]],
        ['gradients', [to, from]],
      ] as const) {
        groupsOf.set(`${name} out ${pair[0]}`, groups.length);
        groupsOf.set(`${name} in ${pair[1]}`, groups.length);
        groups.push({ group: `${name}-${groups.length}`, name, ranks: [...pair].sort((a, b) => a - b), transferMs: 6 });
      }
    });
  }
  const ranks = worldSize(layout);
  const world = groups.length;
  groups.push({
    group: 'world',
    name: 'world',
    ranks: Array.from({ length: ranks }, (_, rank) => rank),
    transferMs: 3,
  });
  const at = (name: string, rank: number): number | undefined => groupsOf.get(`${name} ${rank}`);
  const programs = Array.from({ length: ranks }, (_, rank) =>
    programOf({ rank, stage: coordinatesOfRank(layout, rank).pipelineIndex, layout, microBatches, at, world }),
  );
  return { layout, ranks, groups, programs, world };
}

interface Place {
  readonly rank: number;
  readonly stage: number;
  readonly layout: ParallelLayout;
  readonly microBatches: number;
  readonly at: (name: string, rank: number) => number | undefined;
  readonly world: number;
}

function programOf({ rank, stage, layout, microBatches, at, world }: Place): readonly Call[] {
  const operation = (name: string, called: string, bytes: number, waits = true): Call[] => {
    const group = at(name, rank);
    return group === undefined ? [] : [{ kind: 'operation', group, operation: called, bytes, waits }];
  };
  const pass = (part: 'forward' | 'backward'): Call[] => {
    const [into, out] = part === 'forward' ? ['activations in', 'activations out'] : ['gradients in', 'gradients out'];
    return [
      ...operation(into, 'recv', 33_554_432),
      { kind: 'compute', part, ms: part === 'forward' ? FORWARD_MS : BACKWARD_MS },
      ...operation('tensor', 'all_reduce', 33_554_432),
      ...operation(out, 'send', 33_554_432, false),
    ];
  };
  const ahead = Math.min(layout.pipelineParallelDegree - 1 - stage, microBatches);
  const passes = (part: 'forward' | 'backward', count: number): Call[] =>
    Array.from({ length: count }, () => pass(part)).flat();
  return [
    { kind: 'compute', part: 'data', ms: 2 },
    ...passes('forward', ahead),
    ...Array.from({ length: microBatches - ahead }, () => [...pass('forward'), ...pass('backward')]).flat(),
    ...passes('backward', ahead),
    ...operation('data', 'all_reduce', 1_073_741_824),
    { kind: 'operation', group: world, operation: 'all_reduce', bytes: 4, waits: true },
    { kind: 'compute', part: 'optimizer', ms: 20 },
  ];
}
