/** Do a job and its runtime go together? */
import {
  CONTAINERS,
  gpuCount,
  type JobBounds,
  runtimeName,
  type RuntimeSnapshot,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { quantityOf } from '@coxswain/units';
import { list, record } from './json.ts';
import { partsOf, trainerImageOf } from './template-parts.ts';

/** What a runtime asks of jobs that use it. */
export interface AsksOfJobs {
  /** What its image holds; undefined: it does not say. */
  readonly engine: { readonly name: string; readonly release?: string | undefined } | undefined;
  readonly bounds: JobBounds | undefined;
}

interface Pair {
  readonly spec: TrainingJobSpec;
  readonly runtime: RuntimeSnapshot;
  readonly asks: AsksOfJobs;
  /** As sentences say it. */
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

/** The first thing in which they disagree, in a sentence: field, value, rule and what to do. Undefined where they go together. */
export function disagreement(
  spec: TrainingJobSpec,
  { snapshot, asks }: { readonly snapshot: RuntimeSnapshot; readonly asks: AsksOfJobs },
): string | undefined {
  const pair = { spec, runtime: snapshot, asks, name: runtimeName(snapshot) };
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

function engine({ spec, asks, name }: Pair): string | undefined {
  if (asks.engine === undefined || asks.engine.name === spec.engine.name) return undefined;
  const release = asks.engine.release === undefined ? '' : ` ${asks.engine.release}`;
  return `engine.name is "${spec.engine.name}", and ${name} is for "${asks.engine.name}"${release}; name that engine, or another runtime`;
}

/** Neither may lose silently. */
function variables({ spec, runtime, name }: Pair): string | undefined {
  const given = variablesOfRuntime(runtime);
  const twice = variablesOf(spec).find((variable) => given.has(variable));
  if (twice === undefined) return undefined;
  return `variable ${twice} is set by ${name}; leave it out of the job, or name another runtime`;
}

function variablesOfRuntime({ template, nicEnvironments = [] }: RuntimeSnapshot): ReadonlySet<unknown> {
  return new Set([
    ...list(partsOf(template).trainer['env']).map((variable) => variable['name']),
    ...nicEnvironments.flatMap(({ env }) => env.map((variable) => variable.name)),
  ]);
}

/** What a script sets as a rank starts is later than anything that the pod says. */
function sockets({ spec, runtime, name }: Pair): string | undefined {
  if (spec.resources.acrossIslands !== 'Sockets' || runtime.sourceScript === undefined) return undefined;
  return `resources.acrossIslands is Sockets, and ${name} sources ${runtime.sourceScript} in every rank, which may choose another network; leave resources.acrossIslands out, or name another runtime`;
}

/** NCCL takes the variable before what a communicator says. */
function groupNetworks({ spec, runtime, name }: Pair): string | undefined {
  if (spec.layout?.communication?.groupNetwork === undefined || !variablesOfRuntime(runtime).has('NCCL_NET'))
    return undefined;
  return `layout.communication.groupNetwork gives groups networks of their own, and ${name} sets NCCL_NET, which overrides them; leave groupNetwork out, or name another runtime`;
}

function imageBound({ spec, asks, name }: Pair): string | undefined {
  const { images } = asks.bounds ?? {};
  const { image: wanted } = spec.engine;
  if (images === undefined || wanted === undefined || images.some((entry) => isOf(wanted, entry))) return undefined;
  const allowed = images.length === 0 ? 'its own alone; leave engine.image out' : `those of ${quoted(images)}`;
  return `engine.image "${wanted}" may not be used with ${name}, which takes ${allowed}`;
}

/**
 * An entry that ends with a slash is a registry or a path in it; another one is an image, of whatever tag or digest. Behind these no path follows: in
 * `pytorch:5000/other` the image's name is that of a registry.
 */
function isOf(wanted: string, entry: string): boolean {
  if (!wanted.startsWith(entry)) return false;
  return entry.endsWith('/') || /^(?:[:@][^/]*)?$/.test(wanted.slice(entry.length));
}

function refusedVariables({ spec, asks, name }: Pair): string | undefined {
  const { refusedVariables: refused = [] } = asks.bounds ?? {};
  const found = variablesOf(spec).find((variable) => refused.some((prefix) => variable.startsWith(prefix)));
  if (found === undefined) return undefined;
  return `variable ${found} may not be set with ${name}, which refuses those that begin with ${quoted(refused)}; leave it out of the job`;
}

function gpusPerNode({ spec, asks, name }: Pair): string | undefined {
  const { gpusPerNode: wanted } = asks.bounds ?? {};
  if (wanted === undefined) return undefined;
  const { gpusPerNode: given } = spec.resources;
  if (given !== wanted) {
    const said = given === undefined ? 'is not given' : `is ${given}`;
    return `resources.gpusPerNode ${said}, and ${name} gives whole nodes of ${wanted}; set it to ${wanted}`;
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

/** Who gives no amount takes what the node has, unless the runtime's own template bounds it. */
function overBound(
  { spec, asks, runtime, name }: Pair,
  { field, kind, bound }: (typeof AMOUNTS)[number],
): string | undefined {
  const most = asks.bounds?.[bound];
  if (most === undefined) return undefined;
  const given = spec.resources[field];
  if (given === undefined) {
    const { limits } = record(partsOf(runtime.template).trainer['resources']);
    if (record(limits)[kind] !== undefined) return undefined;
    return `resources.${field} is not given, and ${name} allows ${most} at most; ask for so much, or less`;
  }
  if ((quantityOf(given) ?? 0) <= (quantityOf(most) ?? 0)) return undefined;
  return `resources.${field} ${given} is more than the ${most} that ${name} allows; ask for ${most} at most`;
}

function variablesOf({ engine: { env = [], secretEnv = [] } }: TrainingJobSpec): readonly string[] {
  return [...env, ...secretEnv].map(({ name }) => name);
}

const MOST_QUOTED = 5;

function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, MOST_QUOTED).map((text) => `"${text}"`);
  return `${shown.join(', ')}${texts.length > MOST_QUOTED ? ` and ${texts.length - MOST_QUOTED} more` : ''}`;
}
