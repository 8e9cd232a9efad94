import { SUGGESTED_FORMATS } from './checkpoint-formats.ts';
import { ENGINE_CAPABILITIES, type EngineCapabilities } from './engine-capabilities.ts';
import { LAYOUT_ENGINES, type LayoutEngine } from './layout-facts.ts';
import type { ParallelLayout } from './parallel-layout.ts';

/** An option that an engine does not support, with the reason and an alternative. */
export interface OptionRefusal {
  /** Dotted field of the layout. */
  readonly option: string;
  readonly value: string;
  readonly reason: string;
  readonly fallback: string;
}

/** Whether an engine supports every option of a layout. */
export type EngineOutcome =
  { readonly kind: 'supported' } | { readonly kind: 'refused'; readonly refusals: readonly OptionRefusal[] };

/** The options of a layout that an engine does not support, each with an alternative. An unsupported option is refused, never dropped. */
export function engineSupport(engine: LayoutEngine, layout: ParallelLayout): EngineOutcome {
  const able = ENGINE_CAPABILITIES[engine];
  const missing = optionsOf(layout).filter((asked) => !asked.isIn(able));
  // A refused value comes before an unknown option, because it is more specific.
  const firstOfOption = missing.filter(
    (asked, index) => missing.findIndex(({ option }) => option === asked.option) === index,
  );
  const refusals = firstOfOption.map((asked) => refusalOf(engine, asked));
  return refusals.length === 0 ? { kind: 'supported' } : { kind: 'refused', refusals };
}

/** An option that a layout sets. */
interface UsedOption {
  readonly option: string;
  readonly value: string;
  readonly isIn: (able: EngineCapabilities) => boolean;
  /** Other values, best first: the message advises the first that the engine supports. Absent: remove the option. */
  readonly instead?: readonly { readonly value: string; readonly isIn: (able: EngineCapabilities) => boolean }[];
}

/** Engines that are never advised, because the user's program decides what they support. */
const USER_DEFINED_ENGINES: ReadonlySet<LayoutEngine> = new Set(['command', 'custom', 'reference']);

function refusalOf(engine: LayoutEngine, asked: UsedOption): OptionRefusal {
  const able = ENGINE_CAPABILITIES[engine];
  const others = LAYOUT_ENGINES.filter(
    (other) => !USER_DEFINED_ENGINES.has(other) && asked.isIn(ENGINE_CAPABILITIES[other]),
  );
  const instead = asked.instead?.find((choice) => choice.isIn(able));
  const leaveOut = able.wayOut ?? `remove ${asked.option}`;
  const here = instead === undefined ? leaveOut : `use ${instead.value}`;
  const elsewhere = others.length === 0 ? '' : `, or engine ${others.slice(0, 3).join(' or ')}`;
  return {
    option: asked.option,
    value: asked.value,
    reason:
      others.length === 0
        ? `no public engine supports ${asked.option} ${asked.value}`
        : `engine ${engine} does not support ${asked.option} ${asked.value}`,
    fallback: `${here}${elsewhere}`,
  };
}

function optionsOf(layout: ParallelLayout): readonly UsedOption[] {
  return [
    ...pipelineOptionsOf(layout),
    ...sequenceOptionsOf(layout),
    ...stateOptionsOf(layout),
    ...memoryOptionsOf(layout),
    ...expertOptionsOf(layout),
    ...oneOf('kernel.attention', layout.kernel?.attention, (able) => able.attention, ['auto']),
    ...oneOf('kernel.precision', layout.kernel?.precision, (able) => able.precisions, ['mxfp8', 'fp8', 'bf16']),
    ...oneOf(
      'checkpointPolicy.format',
      layout.checkpointPolicy?.format,
      (able) => able.checkpointFormats,
      SUGGESTED_FORMATS,
    ),
    ...leavesOf(layout).map(({ option, value }) => ({
      option,
      value,
      isIn: (able: EngineCapabilities) =>
        able.options.some((known) => option === known || option.startsWith(`${known}.`)),
    })),
  ];
}

/** Every option that the layout sets, by dotted name. A list counts as one option, except the list of offload rules. */
function leavesOf(layout: ParallelLayout): readonly { readonly option: string; readonly value: string }[] {
  return Object.entries(layout).flatMap(([key, value]) => leaves(key, value));
}

function leaves(option: string, value: unknown): readonly { readonly option: string; readonly value: string }[] {
  if (value === undefined || isDefault(option, value)) return [];
  if (option === 'memory.offload') return (value as readonly object[]).flatMap((rule) => leavesInside(option, rule));
  if (Array.isArray(value)) return value.length === 0 ? [] : [{ option, value: 'as given' }];
  if (typeof value === 'object' && value !== null) return leavesInside(option, value);
  return [{ option, value: String(value) }];
}

/** A degree of 1 and a switch that is off set nothing, except `reshardAfterForward`, which is on by default. */
function isDefault(option: string, value: unknown): boolean {
  if (value === 1) return /(Degree|chunksPerRank|optimizerInstances)$/.test(option);
  return value === false && option !== 'states.reshardAfterForward';
}

function leavesInside(option: string, value: object): readonly { readonly option: string; readonly value: string }[] {
  return Object.entries(value).flatMap(([key, inner]) => leaves(`${option}.${key}`, inner));
}

function pipelineOptionsOf({ pipeline, pipelineParallelDegree }: ParallelLayout): readonly UsedOption[] {
  if (pipeline === undefined) return [];
  const plain = (pipeline.chunksPerRank ?? 1) > 1 ? 'interleaved-1f1b' : '1f1b';
  const schedule = pipeline.schedule ?? plain;
  return [
    ...(pipelineParallelDegree === 1
      ? []
      : oneOf('pipeline.schedule', schedule, (able) => able.schedules, [
          ...(INSTEAD_OF_SCHEDULE[schedule] ?? []),
          '1f1b',
        ])),
    ...oneOf('pipeline.vocabulary', pipeline.vocabulary, (able) => able.vocabularies, [
      'counted-as-layer',
      'end-stages',
    ]),
  ];
}

const INSTEAD_OF_SCHEDULE: Readonly<Record<string, readonly string[]>> = {
  'zb-2p': ['zb-h1'],
  zbv: ['dualpipe-v', 'interleaved-1f1b'],
  'v-half': ['zbv', 'interleaved-1f1b'],
  'v-min': ['v-half', 'zbv', 'interleaved-1f1b'],
  'dualpipe-v': ['zbv', 'interleaved-1f1b'],
  'looped-bfs': ['interleaved-1f1b'],
  'partial-paths': ['gpipe'],
  'graph-chunks': ['gpipe'],
};

function sequenceOptionsOf({ sequence, contextParallelDegree }: ParallelLayout): readonly UsedOption[] {
  if (sequence === undefined) return [];
  const { perLayerKind } = sequence;
  const algorithms =
    (contextParallelDegree ?? 1) === 1
      ? []
      : ([
          ['sequence.contextAlgorithm', sequence.contextAlgorithm],
          ['sequence.perLayerKind.attention', perLayerKind?.attention],
          ['sequence.perLayerKind.linearAttention', perLayerKind?.linearAttention],
          ['sequence.perLayerKind.stateSpace', perLayerKind?.stateSpace],
        ] as const);
  return [
    ...algorithms.flatMap(([option, value]) =>
      oneOf(option, value, (able) => able.contextAlgorithms, INSTEAD_OF_ALGORITHM[value ?? ''] ?? ['ring', 'ulysses']),
    ),
    ...oneOf('sequence.dynamic.method', sequence.dynamic?.method, (able) => able.dynamic, ['hybrid-data-parallel']),
  ];
}

const INSTEAD_OF_ALGORITHM: Readonly<Record<string, readonly string[]>> = {
  'state-scan': ['state-allgather', 'allgather'],
  'state-allgather': ['allgather'],
  'ulysses-ring': ['ulysses', 'ring'],
  ulysses: ['allgather', 'ring'],
};

function stateOptionsOf({ states }: ParallelLayout): readonly UsedOption[] {
  const stage = states?.zeroStage;
  return [
    ...(stage === undefined
      ? []
      : oneOf('states.zeroStage', String(stage), (able) => able.zeroStages.map(String), ['3', '2', '1', '0'])),
    ...oneOf(
      'states.optimizer',
      states?.optimizer,
      (able) => able.optimizers,
      INSTEAD_OF_OPTIMIZER[states?.optimizer ?? ''] ?? ['adamw'],
    ),
  ];
}

const INSTEAD_OF_OPTIMIZER: Readonly<Record<string, readonly string[]>> = {
  'natural-galore': ['galore', 'adamw'],
  'mezo-sgd': ['sgd', 'adamw'],
};

function memoryOptionsOf({ memory }: ParallelLayout): readonly UsedOption[] {
  return (memory?.offload ?? []).flatMap((rule) =>
    oneOf(
      'memory.offload.what',
      rule.what,
      (able) => able.offloads,
      rule.what === 'layers' ? ['parameters', 'activations'] : ['activations'],
    ),
  );
}

function expertOptionsOf({ expert, tensorParallelDegree }: ParallelLayout): readonly UsedOption[] {
  if (expert === undefined) return [];
  const tensor = expert.expertTensorParallelDegree ?? tensorParallelDegree;
  return [
    ...(tensor === 1
      ? []
      : [
          {
            option: 'expert.expertTensorParallelDegree',
            value: String(tensor),
            isIn: (able: EngineCapabilities) => able.expertTensor,
            instead: [{ value: '1', isIn: () => true }],
          },
        ]),
    ...oneOf('expert.dispatcher', expert.dispatcher, (able) => able.dispatchers, ['alltoall', 'allgather']),
    ...oneOf('expert.balance', expert.balance, (able) => able.balances, ['aux-loss', 'bias', 'none']),
  ];
}

function oneOf(
  option: string,
  value: string | undefined,
  of: (able: EngineCapabilities) => readonly string[],
  instead: readonly string[],
): readonly UsedOption[] {
  if (value === undefined) return [];
  const has = (wanted: string) => (able: EngineCapabilities) => of(able).includes(wanted);
  return [
    { option, value, isIn: has(value), instead: instead.map((choice) => ({ value: choice, isIn: has(choice) })) },
  ];
}
