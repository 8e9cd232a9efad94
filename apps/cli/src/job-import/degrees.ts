/** How does a program divide its ranks? What it says becomes the layout of the job; what cannot be read becomes a line that the user has to answer. */
import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { layoutViolations, ParallelLayout } from '@coxswain/layout';
import type { DegreeField, SpelledDegree } from './degree-spellings.ts';

type Layout = NonNullable<TrainingJobSpecInput['layout']>;

/** The layout of a job, and what could not be read of it. */
export interface ReadLayout {
  readonly layout: Layout;
  /** Whether only engine custom takes it: it says more than the degrees of the dense grid. */
  readonly isBeyondDegrees: boolean;
  /** Sentences with a remedy, about degrees that were not taken. */
  readonly problems: readonly { readonly from: string; readonly why: string; readonly todo: string }[];
}

const SAY_LAYOUT = 'write the degrees of the program into layout';
/** FullyShardedDataParallel's strategies, by the names and numbers that Accelerate and PyTorch give them. */
const STRATEGIES: Readonly<Record<string, number>> = {
  '1': 3,
  '2': 2,
  '3': 0,
  '4': 3,
  '5': 2,
  full: 3,
  hybrid: 3,
  full_shard: 3,
  shard_grad_op: 2,
  no_shard: 0,
  hybrid_shard: 3,
  _hybrid_shard_zero2: 2,
  hybrid_shard_zero2: 2,
  true: 3,
  false: 2,
};

/** Strategies that shard within a node and replicate over nodes. */
const HYBRID = /^(?:4|5|hybrid|_?hybrid_shard(?:_zero2)?)$/i;

type Numbers = { readonly [Field in DegreeField]?: number };

/** The layout of so many ranks, as the spelled degrees divide them. Of two spellings of one field the last counts, as it does for the program. */
export function readLayout(spelled: readonly SpelledDegree[], ranks: number, ranksPerNode?: number): ReadLayout {
  const problems: { from: string; why: string; todo: string }[] = [];
  const numbers: { [Field in DegreeField]?: number } = {};
  for (const one of spelled) {
    const number = numberOf(one);
    // All ranks that are left share the states, as FSDP does.
    if (one.field === 'shard' && one.value.trim() === '-1') numbers.fsdp ??= 3;
    if (number === 'none') continue;
    if (number === undefined)
      problems.push({
        from: one.written,
        why: `the value "${one.value.slice(0, 60)}" cannot be read here, so layout leaves this degree out`,
        todo: `${SAY_LAYOUT}: ${FIELD_NAMES[one.field]}`,
      });
    else numbers[one.field] = number;
  }
  const { tensor = 1, pipeline = 1, context = 1 } = numbers;
  const product = tensor * pipeline * context;
  if (ranks % product !== 0) {
    problems.push({
      from: spelled.map(({ written }) => written).join(' '),
      why: `tensor ${tensor} x pipeline ${pipeline} x context ${context} is ${product}, which does not divide the ${ranks} ranks; layout has dataParallelDegree ${ranks} alone`,
      todo: `correct the degrees or the number of nodes: the ranks must be a multiple of ${product}`,
    });
    return { layout: { dataParallelDegree: ranks }, isBeyondDegrees: false, problems };
  }
  const dense = {
    ...above('tensorParallelDegree', tensor),
    ...above('pipelineParallelDegree', pipeline),
    ...above('contextParallelDegree', context),
    dataParallelDegree: ranks / product,
  };
  checkDataDegree(numbers, dense.dataParallelDegree, problems);
  const sharers = dense.dataParallelDegree * context;
  const parts = legalParts(
    dense,
    partsOf({ ...(product === 1 ? hybridShard(spelled, ranks, ranksPerNode) : {}), ...numbers }, sharers),
    problems,
  );
  return { layout: { ...dense, ...parts }, isBeyondDegrees: Object.keys(parts).length > 0, problems };
}

/** PyTorch shards by the ranks of a node if a hybrid strategy is given no mesh. */
function hybridShard(spelled: readonly SpelledDegree[], ranks: number, ranksPerNode: number | undefined): Numbers {
  const [, strategy = ''] = /^["'\s]*(\w+)/.exec(spelled.findLast(({ field }) => field === 'fsdp')?.value ?? '') ?? [];
  const isMesh = spelled.some(({ field }) => field === 'shard' || field === 'replicate');
  if (ranksPerNode === undefined || isMesh || !HYBRID.test(strategy)) return {};
  return ranksPerNode < ranks && ranks % ranksPerNode === 0 ? { shard: ranksPerNode } : {};
}

const FIELD_NAMES: Readonly<Record<DegreeField, string>> = {
  tensor: 'tensorParallelDegree',
  pipeline: 'pipelineParallelDegree',
  context: 'contextParallelDegree',
  expert: 'expert.expertParallelDegree',
  expertTensor: 'expert.expertTensorParallelDegree',
  data: 'dataParallelDegree',
  shard: 'dataParallelShardDegree',
  replicate: 'dataParallelShardDegree',
  zeroStage: 'states.zeroStage',
  fsdp: 'states.zeroStage',
  sequenceParallel: 'sequence.sequenceParallel',
  distributedOptimizer: 'states.zeroStage 1',
};

function above<K extends string>(key: K, degree: number): { readonly [P in K]?: number } {
  return degree > 1 ? ({ [key]: degree } as { readonly [P in K]: number }) : {};
}

/** Undefined if it cannot be read; `none` if the program means its default, such as -1 for all that are left. */
function numberOf({ field, value }: SpelledDegree): number | 'none' | undefined {
  const text = value
    .trim()
    .toLowerCase()
    .replaceAll(/^["']|["']$/g, '');
  if (/^(?:-1|auto|null|none|)$/.test(text)) return 'none';
  if (field === 'sequenceParallel' || field === 'distributedOptimizer')
    return /^(?:true|1|yes)$/.test(text) ? 1 : /^(?:false|0|no)$/.test(text) ? 'none' : undefined;
  if (field === 'fsdp') {
    const [strategy = ''] = text.split(/[\s,]+/);
    return Object.hasOwn(STRATEGIES, strategy) ? STRATEGIES[strategy] : undefined;
  }
  if (!/^\d{1,6}$/.test(text)) return undefined;
  const number = Number(text);
  if (field === 'zeroStage') return number <= 3 ? number : undefined;
  return number === 0 ? 'none' : number;
}

/** A program that names its data-parallel degree and means another than what is left must not be started. */
function checkDataDegree(
  { data, shard = 1, replicate = 1 }: Numbers,
  left: number,
  problems: { from: string; why: string; todo: string }[],
): void {
  const said = data ?? (shard > 1 && replicate > 1 ? shard * replicate : undefined);
  if (said !== undefined && said > 1 && said !== left)
    problems.push({
      from: `data-parallel degree ${said}`,
      why: `the ranks and the other degrees leave ${left} data-parallel ranks`,
      todo: 'correct the degrees of the program or the number of nodes',
    });
}

type Parts = Pick<Layout, 'expert' | 'states' | 'sequence' | 'dataParallelShardDegree'>;

function partsOf(numbers: Numbers, sharers: number): Parts {
  const { expert = 1, expertTensor, tensor = 1, sequenceParallel } = numbers;
  const shard = numbers.shard ?? (numbers.replicate === undefined ? undefined : sharers / numbers.replicate);
  return {
    ...(expert > 1 || (expertTensor ?? tensor) !== tensor
      ? {
          expert: {
            expertParallelDegree: expert,
            ...(expertTensor === undefined ? {} : { expertTensorParallelDegree: expertTensor }),
          },
        }
      : {}),
    ...(shard === undefined || shard === sharers ? {} : { dataParallelShardDegree: shard }),
    ...(sequenceParallel === 1 && tensor > 1 ? { sequence: { sequenceParallel: true } } : {}),
    ...statesOf(numbers, sharers),
  };
}

function statesOf({ zeroStage, fsdp, distributedOptimizer, shard, replicate }: Numbers, sharers: number): Parts {
  if (zeroStage !== undefined && zeroStage > 0) return { states: { zeroStage, implementation: 'deepspeed' } };
  const isSharded = fsdp !== undefined || (shard ?? 1) > 1 || (replicate !== undefined && replicate < sharers);
  const stage = fsdp ?? (isSharded ? 3 : 0);
  if (stage > 0) return { states: { zeroStage: stage, implementation: 'fsdp2' } };
  return distributedOptimizer === 1 ? { states: { zeroStage: 1, implementation: 'distributed-optimizer' } } : {};
}

/** Each part that the rules of layouts allow beside the degrees; of the others a problem each. */
function legalParts(dense: Layout, parts: Parts, problems: { from: string; why: string; todo: string }[]): Parts {
  let legal: Parts = {};
  for (const [key, value] of Object.entries(parts)) {
    const tried = ParallelLayout.safeParse({ ...dense, ...legal, [key]: value });
    const broken = tried.success ? layoutViolations(tried.data, {})[0]?.message : 'it is no degree';
    if (broken === undefined) legal = { ...legal, [key]: value };
    else
      problems.push({
        from: `layout.${key} ${JSON.stringify(value)}`,
        why: `${broken}; layout leaves it out`,
        todo: 'correct the degree of the program',
      });
  }
  return legal;
}
