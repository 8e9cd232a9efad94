/** Compares what a rank trains with what the layout requires. */
import { MAX_TRAINED_DIFFERENCES, type TrainedFacts } from '@coxswain/api-types';
import { worldSize, type ParallelLayout } from '@coxswain/layout';
import { safeText } from '@coxswain/safe-text';
import { formatBytes } from '@coxswain/units';

/** Longest quoted text: sentences have at most 512 characters. */
const MAX_QUOTED = 128;
const MAX_BACKEND = 16;

/** Last parts of the names of classes that divide the states of a model among ranks. */
const SHARDING = ['FSDPModule', 'FullyShardedDataParallel', 'TorchFullyShardedDataParallel', 'MegatronFSDP'];
const DEEPSPEED = ['DeepSpeedEngine', 'PipelineEngine', 'DeepSpeedZeRoOffload'];
/** And of those that copy them to every rank. */
const COPYING = ['DistributedDataParallel', 'ReplicateModule'];

interface Axis {
  readonly what: string;
  /** As dimensions of a mesh, and groups of Megatron-LM (`parallel_state.py`), are called. */
  readonly names: readonly string[];
  readonly degree: (layout: ParallelLayout) => number;
}

const AXES: readonly Axis[] = [
  {
    what: 'tensor parallelism',
    names: ['tp', 'tensor', 'tensor_parallel', 'tensor_model_parallel_group'],
    degree: ({ tensorParallelDegree }) => tensorParallelDegree,
  },
  {
    what: 'pipeline parallelism',
    names: ['pp', 'pipeline', 'pipeline_parallel', 'pipeline_model_parallel_group'],
    degree: ({ pipelineParallelDegree }) => pipelineParallelDegree,
  },
  {
    what: 'context parallelism',
    names: ['cp', 'context', 'context_parallel', 'context_parallel_group'],
    degree: ({ contextParallelDegree = 1 }) => contextParallelDegree,
  },
];

/** As meshes of TorchTitan and of scripts call what FSDP divides. */
const SHARD_NAMES = ['dp_shard', 'dp_shard_cp', 'fsdp'];

/** Shares of the optimizer's states above it are no share: a rank may hold somewhat more than others. */
const WHOLE = 0.95;

/**
 * The differences, one sentence each; empty if nothing is known. An engine can divide its ranks without a mesh, without names,
 * or with wrappers of its own, so only evidence of a difference counts.
 */
export function trainedDifferences(layout: ParallelLayout, rank: number, facts: TrainedFacts): readonly string[] {
  const differences = [
    ranksDiffer(layout, rank, facts),
    ...AXES.map((axis) => axisDiffers(axis, { layout, rank, facts })),
    shardsDiffer(layout, rank, facts),
    statesAreCopied(layout, rank, facts),
    optimizerIsWhole(layout, rank, facts),
  ];
  return differences.filter((one) => one !== undefined).slice(0, MAX_TRAINED_DIFFERENCES);
}

/** Describes what a rank trains, in one sentence of at most 512 characters. */
export function trainedSentence(rank: number, facts: TrainedFacts): string {
  const { worldSize: ranks, backend, wrappers, parameterBytes, optimizerBytes } = facts;
  // Engines name every dimension that there could be.
  const [mesh, groups] = [facts.mesh, facts.groups].map((sizes) => sizes.filter(({ size }) => size > 1));
  const named = (what: string, sizes: TrainedFacts['mesh'] = []): readonly string[] =>
    sizes.length === 0 ? [] : [`${what} ${quoted(sizes.map(({ name, size }) => `${name} ${size}`).join(', '))}`];
  const parts = [
    backend === null ? 'no process group' : `${ranks} ranks over ${safeText(backend, MAX_BACKEND)}`,
    ...(facts.mesh.length > 0 ? named('mesh', mesh) : named('groups', groups)),
    ...(wrappers.length === 0 ? [] : [quoted(wrappers.map(lastPart).join(', '))]),
    `${formatBytes(parameterBytes)} of parameters and ${formatBytes(optimizerBytes)} of optimizer states on it`,
  ];
  return `Rank ${rank} trains with ${parts.join('; ')}.`;
}

function ranksDiffer(layout: ParallelLayout, rank: number, facts: TrainedFacts): string | undefined {
  const asked = worldSize(layout);
  if (facts.worldSize === asked) return undefined;
  const found =
    facts.backend === null
      ? `Rank ${rank} trains without a process group, so by itself`
      : `Rank ${rank} is in a process group of ${facts.worldSize}`;
  return `${found}, and the layout is one of ${asked} ranks.`;
}

function axisDiffers(
  { what, names, degree }: Axis,
  { layout, rank, facts }: { readonly layout: ParallelLayout; readonly rank: number; readonly facts: TrainedFacts },
): string | undefined {
  const asked = degree(layout);
  const found = [...facts.mesh, ...facts.groups].filter(({ name }) => names.includes(plainName(name)));
  const [first] = found;
  if (first !== undefined) {
    if (found.some(({ size }) => size === asked)) return undefined;
    return `On rank ${rank}, ${quoted(first.name)} has ${first.size} ranks for ${what}, and the layout asks for ${asked}.`;
  }
  if (asked === 1 || facts.mesh.length === 0) return undefined;
  const mesh = facts.mesh.map(({ name, size }) => `${name} ${size}`).join(', ');
  return `The mesh of rank ${rank} (${quoted(mesh)}) has no dimension for ${what}, and the layout asks for ${asked}.`;
}

/** A group that PyTorch makes for a dimension of a mesh is called after it. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/^mesh_/, '');
}

function statesAreCopied(layout: ParallelLayout, rank: number, { wrappers }: TrainedFacts): string | undefined {
  const { zeroStage = 0, implementation } = layout.states ?? {};
  if (!isSharded(layout) || shardDegree(layout) === 1) return undefined;
  if (wrappers.some((name) => isOneOf([...SHARDING, ...DEEPSPEED], name))) return undefined;
  const copying = wrappers.find((name) => isOneOf(COPYING, name));
  if (copying === undefined) return undefined;
  const asked = [...(implementation === undefined ? [] : [implementation]), `zeroStage ${zeroStage}`].join(', ');
  return `Rank ${rank} trains with ${quoted(copying)}, which keeps a whole copy of the model and its optimizer states on each rank, and the layout shards them over ${shardDegree(layout)} ranks (${asked}). Have the program shard its model, or ask for layout.states.zeroStage 0.`;
}

function isSharded({ states: { zeroStage = 0, implementation } = {} }: ParallelLayout): boolean {
  return implementation === 'fsdp2' || implementation === 'megatron-fsdp' || zeroStage === 3;
}

/**
 * Compares the shards of parameters, if the mesh has a dimension with a known name. Context ranks can be counted in it or not.
 */
function shardsDiffer(layout: ParallelLayout, rank: number, { mesh }: TrainedFacts): string | undefined {
  const found = mesh.filter(({ name }) => SHARD_NAMES.includes(plainName(name)));
  const [first] = found;
  if (!isSharded(layout) || first === undefined) return undefined;
  const asked = shardDegree(layout);
  const legal = [asked, asked / (layout.contextParallelDegree ?? 1)];
  if (found.some(({ size }) => legal.includes(size))) return undefined;
  return `On rank ${rank}, ${quoted(first.name)} has ${first.size} ranks that share states, and the layout shards them over ${asked}.`;
}

function optimizerIsWhole(layout: ParallelLayout, rank: number, facts: TrainedFacts): string | undefined {
  const { zeroStage = 0 } = layout.states ?? {};
  const { parameters = 0, optimizedParameters = 0, wrappers } = facts;
  const ranks = shardDegree(layout);
  if (zeroStage === 0 || ranks === 1 || parameters === 0) return undefined;
  // Parameters that are sharded themselves are as few as their states.
  if (zeroStage === 3 || wrappers.some((name) => isOneOf(SHARDING, name))) return undefined;
  const share = optimizedParameters / parameters;
  if (share < WHOLE) return undefined;
  return `Rank ${rank} keeps optimizer states of ${Math.round(Math.min(share, 1) * 100)} % of its parameters, and the layout shards them over ${ranks} ranks (zeroStage ${zeroStage}).`;
}

function shardDegree({
  dataParallelShardDegree,
  dataParallelDegree,
  contextParallelDegree = 1,
}: ParallelLayout): number {
  return dataParallelShardDegree ?? dataParallelDegree * contextParallelDegree;
}

function isOneOf(classes: readonly string[], name: string): boolean {
  return classes.includes(lastPart(name));
}

function lastPart(name: string): string {
  return name.split('.').at(-1) ?? '';
}

/** The trained program chooses the names. */
function quoted(text: string): string {
  return safeText(text, MAX_QUOTED);
}
