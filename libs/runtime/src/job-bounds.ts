/** Do a job and its runtime go together? */
import {
  CONTAINERS,
  type JobBounds,
  runtimeName,
  type RuntimeSnapshot,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { quantityOf } from '@coxswain/units';
import { list } from './json.ts';
import { partsOf, trainerImageOf } from './parts.ts';

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

const RULES: readonly Rule[] = [image, engine, variables, imageBound, refusedVariables, gpusPerNode, cpu, memory];

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
  if (spec.engine.image !== undefined || trainerImageOf(runtime.template) !== undefined) return undefined;
  return `engine.image is required: ${name} gives no image for container ${CONTAINERS.trainer}`;
}

function engine({ spec, asks, name }: Pair): string | undefined {
  if (asks.engine === undefined || asks.engine.name === spec.engine.name) return undefined;
  const release = asks.engine.release === undefined ? '' : ` ${asks.engine.release}`;
  return `engine.name is "${spec.engine.name}", and ${name} is for "${asks.engine.name}"${release}; name that engine, or another runtime`;
}

/** Neither may lose silently. */
function variables({ spec, runtime, name }: Pair): string | undefined {
  const { trainer } = partsOf(runtime.template);
  const given = new Set<unknown>([
    ...list(trainer['env']).map((variable) => variable['name']),
    ...(runtime.nicEnvironments ?? []).flatMap(({ env }) => env.map((variable) => variable.name)),
  ]);
  const twice = variablesOf(spec).find((variable) => given.has(variable));
  if (twice === undefined) return undefined;
  return `variable ${twice} is set by ${name}; leave it out of the job, or name another runtime`;
}

function imageBound({ spec, asks, name }: Pair): string | undefined {
  const { images } = asks.bounds ?? {};
  const { image: wanted } = spec.engine;
  if (images === undefined || wanted === undefined || images.some((entry) => isOf(wanted, entry))) return undefined;
  const allowed = images.length === 0 ? 'its own alone; leave engine.image out' : `those of ${quoted(images)}`;
  return `engine.image "${wanted}" may not be used with ${name}, which takes ${allowed}`;
}

/** An entry that ends with a slash is a registry or a path in it; another one is an image, of whatever tag or digest. */
function isOf(wanted: string, entry: string): boolean {
  if (entry.endsWith('/')) return wanted.startsWith(entry);
  return wanted === entry || wanted.startsWith(`${entry}:`) || wanted.startsWith(`${entry}@`);
}

function refusedVariables({ spec, asks, name }: Pair): string | undefined {
  const { refusedVariables: refused = [] } = asks.bounds ?? {};
  const found = variablesOf(spec).find((variable) => refused.some((prefix) => variable.startsWith(prefix)));
  if (found === undefined) return undefined;
  return `variable ${found} may not be set with ${name}, which refuses those that begin with ${quoted(refused)}; leave it out of the job`;
}

function gpusPerNode({ spec, asks, name }: Pair): string | undefined {
  const { gpusPerNode: wanted } = asks.bounds ?? {};
  if (wanted === undefined || spec.resources.gpusPerNode === wanted) return undefined;
  const given = spec.resources.gpusPerNode === undefined ? 'is not given' : `is ${spec.resources.gpusPerNode}`;
  return `resources.gpusPerNode ${given}, and ${name} gives whole nodes of ${wanted}; set it to ${wanted}`;
}

function cpu({ spec, asks, name }: Pair): string | undefined {
  return overBound(name, { field: 'cpuPerGpu', given: spec.resources.cpuPerGpu, most: asks.bounds?.maxCpuPerGpu });
}

function memory({ spec, asks, name }: Pair): string | undefined {
  return overBound(name, {
    field: 'memoryPerGpu',
    given: spec.resources.memoryPerGpu,
    most: asks.bounds?.maxMemoryPerGpu,
  });
}

function overBound(
  name: string,
  {
    field,
    given,
    most,
  }: { readonly field: string; readonly given: string | undefined; readonly most: string | undefined },
): string | undefined {
  if (given === undefined || most === undefined || (quantityOf(given) ?? 0) <= (quantityOf(most) ?? 0))
    return undefined;
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
