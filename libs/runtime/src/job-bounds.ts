/** Checks whether a job fits the runtime that it uses. */
import {
  CONTAINERS,
  gpuCount,
  hostMemoryPerGpu,
  type JobBounds,
  runtimeName,
  type RuntimeSnapshot,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { quantityOf } from '@coxswain/units';
import { list, record } from './json.ts';
import { templateParts, trainerImageOf } from './template-parts.ts';

/** What a runtime requires of its jobs. */
export interface JobRequirements {
  /** The engine in its image; undefined: unknown. */
  readonly engine: { readonly name: string; readonly release?: string | undefined } | undefined;
  readonly bounds: JobBounds | undefined;
}

interface Pair {
  readonly spec: TrainingJobSpec;
  readonly runtime: RuntimeSnapshot;
  readonly requirements: JobRequirements;
  /** The name as messages write it. */
  readonly name: string;
}

type Rule = (pair: Pair) => string | undefined;

const RULES: readonly Rule[] = [
  image,
  engine,
  variables,
  sockets,
  groupNetworks,
  imageBound,
  refusedVariables,
  gpusPerNode,
  amounts,
];

/** Describes the first conflict between a job and its runtime: field, value, rule and what to do. Undefined if they fit. */
export function describeConflict(
  spec: TrainingJobSpec,
  { snapshot, requirements }: { readonly snapshot: RuntimeSnapshot; readonly requirements: JobRequirements },
): string | undefined {
  const pair = { spec, runtime: snapshot, requirements, name: runtimeName(snapshot) };
  for (const rule of RULES) {
    const problem = rule(pair);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function image({ spec, runtime, name }: Pair): string | undefined {
  if (trainerImageOf(spec, runtime) !== undefined) return undefined;
  return `engine.image is required: ${name} gives no image for container ${CONTAINERS.trainer}`;
}

function engine({ spec, requirements, name }: Pair): string | undefined {
  if (requirements.engine === undefined || requirements.engine.name === spec.engine.name) return undefined;
  const release = requirements.engine.release === undefined ? '' : ` ${requirements.engine.release}`;
  return `engine.name is "${spec.engine.name}", and ${name} is for "${requirements.engine.name}"${release}; name that engine, or another runtime`;
}

/** Neither value must be lost without a message. */
function variables({ spec, runtime, name }: Pair): string | undefined {
  const given = variablesOfRuntime(runtime);
  const twice = variablesOf(spec).find((variable) => given.has(variable));
  if (twice === undefined) return undefined;
  return `variable ${twice} is set by ${name}; leave it out of the job, or name another runtime`;
}

function variablesOfRuntime({ template, nicEnvironments = [] }: RuntimeSnapshot): ReadonlySet<unknown> {
  return new Set([
    ...list(templateParts(template).trainer['env']).map((variable) => variable['name']),
    ...nicEnvironments.flatMap(({ env }) => env.map((variable) => variable.name)),
  ]);
}

/** The script runs as a rank starts, after everything that the pod sets. */
function sockets({ spec, runtime, name }: Pair): string | undefined {
  if (spec.resources.acrossIslands !== 'Sockets' || runtime.sourceScript === undefined) return undefined;
  return `resources.acrossIslands is Sockets, and ${name} sources ${runtime.sourceScript} in every rank, which may choose another network; leave resources.acrossIslands out, or name another runtime`;
}

/** The variable overrides the configuration of a communicator. */
function groupNetworks({ spec, runtime, name }: Pair): string | undefined {
  if (spec.layout?.communication?.groupNetwork === undefined || !variablesOfRuntime(runtime).has('NCCL_NET'))
    return undefined;
  return `layout.communication.groupNetwork gives groups networks of their own, and ${name} sets NCCL_NET, which overrides them; leave groupNetwork out, or name another runtime`;
}

function imageBound({ spec, requirements, name }: Pair): string | undefined {
  const { images } = requirements.bounds ?? {};
  const { image: wanted } = spec.engine;
  if (images === undefined || wanted === undefined || images.some((entry) => isOf(wanted, entry))) return undefined;
  const allowed = images.length === 0 ? 'only its own image; leave engine.image out' : `images of ${quoted(images)}`;
  return `engine.image "${wanted}" cannot be used with ${name}, which allows ${allowed}`;
}

/**
 * An entry that ends with a slash is a registry or a path in it; another one is an image, of whatever tag or digest. Behind these no path follows: in
 * `pytorch:5000/other` the image's name is that of a registry.
 */
function isOf(wanted: string, entry: string): boolean {
  if (!wanted.startsWith(entry)) return false;
  return entry.endsWith('/') || /^(?:[:@][^/]*)?$/.test(wanted.slice(entry.length));
}

function refusedVariables({ spec, requirements, name }: Pair): string | undefined {
  const { refusedVariables: refused = [] } = requirements.bounds ?? {};
  const found = variablesOf(spec).find((variable) => refused.some((prefix) => variable.startsWith(prefix)));
  if (found === undefined) return undefined;
  return `variable ${found} cannot be set with ${name}, which refuses variables that begin with ${quoted(refused)}; leave it out of the job`;
}

function gpusPerNode({ spec, requirements, name }: Pair): string | undefined {
  const { gpusPerNode: wanted } = requirements.bounds ?? {};
  if (wanted === undefined) return undefined;
  const { gpusPerNode: given } = spec.resources;
  if (given !== wanted) {
    const state = given === undefined ? 'is not given' : `is ${given}`;
    return `resources.gpusPerNode ${state}, and ${name} gives whole nodes of ${wanted}; set it to ${wanted}`;
  }
  const gpus = gpuCount(spec.layout, spec.gpus);
  if (gpus % wanted === 0) return undefined;
  return `the job has ${gpus} GPUs, and ${name} gives whole nodes of ${wanted}; ask for a multiple of ${wanted}`;
}

const AMOUNTS = [
  { field: 'cpuPerGpu', kind: 'cpu', bound: 'maxCpuPerGpu' },
  { field: 'memoryPerGpu', kind: 'memory', bound: 'maxMemoryPerGpu' },
] as const;

function amounts(pair: Pair): string | undefined {
  return AMOUNTS.map((amount) => overBound(pair, amount)).find((problem) => problem !== undefined);
}

/** A job that gives no amount takes what the node has, unless the template of the runtime limits it. */
function overBound(
  { spec, requirements, runtime, name }: Pair,
  { field, kind, bound }: (typeof AMOUNTS)[number],
): string | undefined {
  const most = requirements.bounds?.[bound];
  if (most === undefined) return undefined;
  const given = field === 'memoryPerGpu' ? hostMemoryPerGpu(spec) : spec.resources[field];
  if (given === undefined) {
    const { limits } = record(templateParts(runtime.template).trainer['resources']);
    if (record(limits)[kind] !== undefined) return undefined;
    return `resources.${field} is not given, and ${name} allows ${most} at most; request ${most} or less`;
  }
  if ((quantityOf(given) ?? 0) <= (quantityOf(most) ?? 0)) return undefined;
  const saves = given === spec.resources[field] ? '' : ' with checkpoint.memory';
  return `resources.${field} ${given}${saves} is more than the ${most} that ${name} allows; ask for ${most} at most`;
}

function variablesOf({ engine: { env = [], secretEnv = [] } }: TrainingJobSpec): readonly string[] {
  return [...env, ...secretEnv].map(({ name }) => name);
}

const MOST_QUOTED = 5;

function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, MOST_QUOTED).map((text) => `"${text}"`);
  return `${shown.join(', ')}${texts.length > MOST_QUOTED ? ` and ${texts.length - MOST_QUOTED} more` : ''}`;
}
