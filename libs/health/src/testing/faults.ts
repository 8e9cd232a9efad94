/** What a fault changes in each step. */
import { coordinatesOfRank } from '@coxswain/layout';
import type { Random } from './random.ts';
import type { Fault, Scenario } from './scenario.ts';
import type { Call, StepModel } from './step-program.ts';
import type { TraceSize } from './trace-size.ts';

export interface FaultsNow {
  readonly pace: (rank: number, part: string) => number;
  readonly transfer: (group: number) => number;
  readonly program: (rank: number, usual: readonly Call[]) => readonly Call[];
  readonly freezesAt: (rank: number) => number | undefined;
}

export interface FaultState {
  readonly blamed: readonly (readonly number[])[];
  readonly at: (step: number, nowMs: number, saving: boolean) => FaultsNow;
  /** From when on nothing is heard of a rank. */
  readonly silentFromMs: (rank: number) => number;
  readonly work: (rank: number) => { readonly squaredTokens?: number; readonly expertTokens?: number };
}

interface Ground {
  readonly scenario: Scenario;
  readonly model: StepModel;
  readonly size: TraceSize;
  readonly random: Random;
}

const BLAMES_RANK: ReadonlySet<Fault['kind']> = new Set([
  'slowCompute',
  'slowLink',
  'freeze',
  'freezeWhileSaving',
  'kill',
  'skip',
]);
const PAUSE_EVERY_STEPS = 37;
const PAUSE_MS = 800;

export function faultsOf(ground: Ground): FaultState {
  const { scenario, model, size, random } = ground;
  const victims = scenario.faults.map(() => random.below(model.ranks));
  const lastStage = model.layout.pipelineParallelDegree - 1;
  const at = (rank: number) => coordinatesOfRank(model.layout, rank);
  const experts = model.layout.expert?.expertParallelDegree ?? 1;
  const hot = random.below(experts);
  const nodeOf = (rank: number): number => Math.floor(rank / size.ranksPerNode);
  const blamed = scenario.faults.map(({ kind }, index) => {
    const victim = victims[index] ?? 0;
    if (kind === 'hostData')
      return Array.from({ length: model.ranks }, (_, rank) => rank).filter((rank) => nodeOf(rank) === nodeOf(victim));
    return BLAMES_RANK.has(kind) ? [victim] : [];
  });
  const deadName = scenario.faults[0]?.group ?? 'data';
  const dead = model.groups.findIndex(({ name, ranks }) => name === deadName && ranks.includes(victims[0] ?? 0));
  const phases = Array.from({ length: model.ranks }, () => random.below(PAUSE_EVERY_STEPS));
  const offsets = Array.from({ length: model.ranks }, () => 1 + 0.02 * random.normal());
  let lengths: readonly number[] = [];
  let tokens: readonly number[] = [];
  let stopped: number | undefined;

  const paceOf = (fault: Fault, victim: number, step: number): ((rank: number, part: string) => number) => {
    const factor = fault.factor ?? 1;
    const isCompute = (part: string): boolean => part === 'forward' || part === 'backward';
    switch (fault.kind) {
      case 'slowCompute':
        return (rank, part) => (rank === victim && isCompute(part) ? factor : 1);
      case 'hostData':
        return (rank, part) => (part === 'data' && nodeOf(rank) === nodeOf(victim) ? 400 : 1);
      case 'sharedData':
        return (rank, part) => (part === 'data' ? 350 * (offsets[rank] ?? 1) : 1);
      case 'stage':
        return (rank, part) => (isCompute(part) && at(rank).pipelineIndex === lastStage ? factor : 1);
      case 'experts':
        return (rank, part) => (isCompute(part) ? (tokens[rank] ?? 1) : 1);
      case 'sequences':
        return (rank, part) => (isCompute(part) ? (lengths[at(rank).dataIndex] ?? 1) : 1);
      case 'pauses':
        return (rank, part) =>
          part === 'optimizer' && (step + (phases[rank] ?? 0)) % PAUSE_EVERY_STEPS === 0 ? 1 + PAUSE_MS / 20 : 1;
      case 'uniform':
        return (_, part) => (isCompute(part) ? factor : 1);
      case 'slowLink':
      case 'freeze':
      case 'freezeWhileSaving':
      case 'kill':
      case 'skip':
      case 'deadLink':
      case 'healingLink':
        return () => 1;
    }
  };

  return {
    blamed,
    silentFromMs: (rank) =>
      scenario.faults.some(({ kind }, index) => kind === 'kill' && victims[index] === rank) ? size.onsetMs : Infinity,
    work: (rank) => ({
      ...(lengths.length === 0 ? {} : { squaredTokens: (lengths[at(rank).dataIndex] ?? 1) * 6e7 }),
      ...(tokens.length === 0 ? {} : { expertTokens: (tokens[rank] ?? 1) * 8192 }),
    }),
    at: (step, nowMs, saving) => {
      const active = nowMs >= size.onsetMs;
      const kinds: readonly Fault['kind'][] = scenario.faults.map(({ kind }) => kind);
      // Log-normal lengths of the samples of each data rank: the sum of squares spreads about a fifth.
      lengths = kinds.includes('sequences')
        ? Array.from({ length: model.layout.dataParallelDegree }, () =>
            active ? Math.exp(0.2 * random.normal()) : 1 + 0.01 * random.normal(),
          )
        : [];
      const factor = scenario.faults.find(({ kind }) => kind === 'experts')?.factor ?? 1;
      tokens = kinds.includes('experts')
        ? Array.from({ length: model.ranks }, (_, rank) => {
            const isHot = active && at(rank).dataIndex % experts === hot;
            return (isHot ? factor : 1) * (1 + 0.02 * random.normal());
          })
        : [];
      const paces = scenario.faults.map((fault, index) => {
        const always = fault.kind === 'experts' || fault.kind === 'sequences';
        return active || always ? paceOf(fault, victims[index] ?? 0, step) : () => 1;
      });
      const stops = active && (stopped === undefined || stopped === step);
      if (stops && (saving || !kinds.includes('freezeWhileSaving'))) stopped = step;
      const stopsNow = stopped === step;
      const is = (rank: number, ...these: readonly Fault['kind'][]): boolean =>
        scenario.faults.some(({ kind }, index) => these.includes(kind) && victims[index] === rank);
      return {
        pace: (rank, part) => paces.reduce((product, pace) => product * pace(rank, part), 1),
        transfer: (group) => {
          if (kinds.includes('deadLink') && stopsNow && group === dead) return Infinity;
          if (kinds.includes('healingLink') && stopsNow && group === dead) return scenario.faults[0]?.factor ?? 1;
          const slow = scenario.faults.findIndex(({ kind }) => kind === 'slowLink');
          if (!active || slow === -1) return 1;
          const one = model.groups[group];
          // Between nodes; tensor groups are inside one.
          const slowed = one?.name !== 'tensor' && one?.name !== 'world' && one?.ranks.includes(victims[slow] ?? 0);
          return slowed === true ? (scenario.faults[slow]?.factor ?? 1) : 1;
        },
        program: (rank, usual) =>
          stopsNow && is(rank, 'skip') ? usual.filter((call) => !isGradientSum(call, model)) : usual,
        freezesAt: (rank) => {
          if (!stopsNow) return undefined;
          const calls = model.programs[rank]?.length ?? 0;
          if (is(rank, 'freezeWhileSaving')) return calls + 1;
          return is(rank, 'freeze', 'kill') ? Math.floor(calls / 2) : undefined;
        },
      };
    },
  };
}

function isGradientSum(call: Call, model: StepModel): boolean {
  return call.kind === 'operation' && model.groups[call.group]?.name === 'data';
}
