/** Jobs by chance, the same with each seed: some that this release can run, some that break one rule. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { argumentsOf, toMegatronJob, variablesOf } from '../../adapters/megatron-lm.ts';
import { megatronArguments, fieldRefusals } from '../megatron-arguments.ts';
import type { MegatronRelease } from '../releases.ts';
import { worldSize } from '@coxswain/layout';
import { BROKEN_RULES, type BrokenRule } from './broken-rules.ts';
import { CAPABILITIES } from './capabilities.ts';
import { aDraft, type JobDraft, specOf } from './job-draft.ts';

/** A job with everything that we say against it. */
interface Refusable {
  readonly refusals: readonly { readonly rule: string }[];
}

/** What it was made for. */
interface Made {
  /** What is asked for last, so that nothing of its company changes it; absent where a rule is broken. */
  readonly capability?: string;
  /** The rule that it breaks; absent: none. */
  readonly broken?: BrokenRule;
}

/** How a spec by chance becomes the job that is judged. */
export type Judging<J extends Refusable> = (name: string, spec: EffectiveSpec) => J;

export interface JudgedJob extends Made {
  readonly name: string;
  readonly refusals: readonly EngineRefusal[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly worldSize: number;
}

/** mulberry32: as many numbers as are wanted, the same in each run. */
function chance(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Attempts before a capability counts as one that this release does not have. */
const ATTEMPTS = 60;

/** Jobs of Megatron-LM: {@link capableJobs}. */
export function soundJobs(
  release: MegatronRelease,
  chosen: { readonly times: number; readonly seed: number },
): readonly JudgedJob[] {
  return capableJobs(judgingOf(release), chosen);
}

/** Jobs of Megatron-LM: {@link wrongJobs}. */
export function brokenJobs(
  release: MegatronRelease,
  chosen: { readonly count: number; readonly seed: number },
): readonly JudgedJob[] {
  const jobs = wrongJobs(judgingOf(release), chosen);
  return jobs.map((job) => ({ ...job, args: [...job.args, ...(job.broken?.means ?? [])] }));
}

function judgingOf(release: MegatronRelease): Judging<JudgedJob> {
  return (name, spec) => {
    const named = { ...spec, engine: { ...spec.engine, release: release.tag } };
    return judgedSpec(name, { spec: named, release });
  };
}

/** Each capability that there is so many times, in company of others where they go together; none breaks a rule. */
export function capableJobs<J extends Refusable>(
  judging: Judging<J>,
  { times, seed }: { readonly times: number; readonly seed: number },
): readonly (J & Made)[] {
  const below = chance(seed);
  return Object.keys(CAPABILITIES).flatMap((name) => {
    const jobs: (J & Made)[] = [];
    for (let attempt = 0; attempt < ATTEMPTS && jobs.length < times; attempt++) {
      const job = judged([...others(below, attempt), name], judging);
      if (job?.refusals.length === 0) jobs.push({ ...job, capability: name });
    }
    return jobs;
  });
}

/** As many jobs, each of which breaks one rule and no other, in turn. */
export function wrongJobs<J extends Refusable>(
  judging: Judging<J>,
  { count, seed }: { readonly count: number; readonly seed: number },
): readonly (J & Made)[] {
  const below = chance(seed);
  const jobs: (J & Made)[] = [];
  for (let attempt = 0; jobs.length < count && attempt < 40 * count; attempt++) {
    const broken = BROKEN_RULES[attempt % BROKEN_RULES.length];
    const job = judged(others(below, attempt), judging, broken);
    const rules = new Set(job?.refusals.map(({ rule }) => rule));
    if (job !== undefined && broken !== undefined && rules.size === 1 && rules.has(broken.rule))
      jobs.push({ ...job, broken });
  }
  return jobs;
}

/** Up to three capabilities; fewer where many attempts found no company. */
function others(below: (limit: number) => number, attempt: number): readonly string[] {
  const names = Object.keys(CAPABILITIES);
  const count = attempt > ATTEMPTS / 2 ? 0 : below(3);
  return Array.from({ length: count }, () => names[below(names.length)] ?? '');
}

/** Undefined where the words make no job. */
function judged<J>(
  capabilities: readonly string[],
  judging: (name: string, spec: EffectiveSpec) => J,
  broken?: BrokenRule,
): J | undefined {
  const draft = aDraft();
  for (const name of capabilities) CAPABILITIES[name]?.(draft);
  broken?.change(draft);
  const spec = specOrNothing(draft);
  if (spec === undefined) return undefined;
  return judging([...capabilities, broken?.rule ?? ''].filter((one) => one !== '').join(' + '), spec);
}

/** A job as it is judged, with everything that we say against it. */
export function judgedSpec(
  name: string,
  { spec, release }: { readonly spec: EffectiveSpec; readonly release: MegatronRelease },
): JudgedJob {
  const job = toMegatronJob(spec, { context: {}, release });
  const fields = megatronArguments(job);
  return {
    name,
    refusals: fieldRefusals(job, fields),
    args: argumentsOf(fields),
    env: variablesOf(fields),
    worldSize: worldSize(spec.layout),
  };
}

function specOrNothing(draft: JobDraft): EffectiveSpec | undefined {
  try {
    return specOf(draft);
  } catch {
    // zod refuses some before any rule of an engine is asked.
    return undefined;
  }
}
