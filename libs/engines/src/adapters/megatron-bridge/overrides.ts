/** Refuses overrides of the user (`section.field=value`, as Hydra writes them) that contradict the job. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { ownerOf } from '../../megatron/owned-options.ts';
import { megatronRelease } from '../../megatron/releases.ts';
import type { MegatronJob } from '../../megatron/rendered-field.ts';
import { toMegatronJob } from '../megatron-lm.ts';
import { decidedBy } from './decided.ts';
import { bridgeRelease, type BridgeRelease } from './fields.ts';
import { flagsOfField } from './settings.ts';

const OVERRIDE = /^([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*)(\.[A-Za-z0-9_.]+)?=/;
/** Sections that repeat other fields. */
const SECTIONS: Readonly<Record<string, string>> = {
  comm_overlap: 'layout.communication',
};

/** The refusal of the first argument that cannot stay. A program of the user reads arguments of its own as well. */
export function overrideRefusal(
  job: MegatronJob,
  configuration: ReadonlyMap<string, string>,
): EngineRefusal | undefined {
  const { args = [], command } = job.spec.engine;
  const decided = decidedBy(job);
  const release = bridgeRelease(job.spec.engine.release);
  for (const argument of args) {
    const path = OVERRIDE.exec(argument)?.[1];
    const isKnown = path !== undefined && release.fields.has(path);
    if (!isKnown && command === undefined) return unknown(argument, { path, release });
    if (!isKnown) continue;
    const owner = configuration.get(path) ?? ownerOfPath(path, job, decided);
    if (owner !== undefined) return decidedBefore(path, owner);
  }
  return undefined;
}

/** The field of the job that decides a setting; undefined if the user does. */
export function ownerOfSetting(path: string, spec: EffectiveSpec): string | undefined {
  const core = megatronRelease(bridgeRelease(spec.engine.release).core);
  if (core === undefined) return undefined;
  const job = toMegatronJob(spec, { context: {}, release: core, engine: 'megatron-bridge' });
  return ownerOfPath(path, job, decidedBy(job));
}

function ownerOfPath(path: string, job: MegatronJob, decided: ReturnType<typeof decidedBy>): string | undefined {
  const [section = '', name = ''] = path.split('.');
  if (section === 'mixed_precision') return FORMATS.has(name) ? 'layout.kernel.precision' : undefined;
  if (section === 'comm_overlap' && !OVERLAPS.test(name)) return undefined;
  return (
    SECTIONS[section] ??
    decided.find(([, settings]) => path in settings)?.[0] ??
    (BESIDE_ANOTHER.has(path) ? undefined : ownerOfFlags(flagsOfField(path), job))
  );
}

/** Fields of mixed_precision that are rendered; the others are the user's. */
const FORMATS = new Set([
  ...['fp32', 'fp16', 'bf16', 'params_dtype', 'pipeline_dtype', 'grad_reduce_in_fp32'],
  ...['fp8', 'fp8_recipe', 'fp4', 'fp4_recipe'],
]);
/** Switches of comm_overlap that the layout decides; sizes of buckets and userbuffers are the user's. */
const OVERLAPS = /^(tp_comm_overlap|overlap_.*|defer_embedding_wgrad_compute)$/;
/** Settings that a flag sets besides its own. Without that flag the user may set them. */
const BESIDE_ANOTHER = new Set([
  'model.cross_entropy_loss_fusion',
  'model.use_te_rng_tracker',
  'rng.te_rng_tracker',
  'model.gradient_accumulation_fusion',
]);

function ownerOfFlags(flags: readonly string[], { release, spec }: MegatronJob): string | undefined {
  const owners = flags.flatMap((flag) => ownerOf(release.options.get(flag)?.dest ?? '', spec) ?? []);
  return owners[0];
}

function decidedBefore(path: string, owner: string): EngineRefusal {
  return {
    rule: 'arguments-agree-with-job',
    field: 'engine.args',
    why: `engine.args holds ${path}, which ${owner} sets, also if the job leaves it out`,
    fallback: `set ${owner} instead, and leave ${path} out`,
  };
}

function unknown(
  argument: string,
  { path, release }: { readonly path: string | undefined; readonly release: BridgeRelease },
): EngineRefusal {
  const near = path === undefined ? undefined : nearestWord([...release.fields.keys()], path);
  return {
    rule: 'arguments-of-this-release',
    field: 'engine.args',
    why:
      path === undefined
        ? `"${argument}" sets no field: Megatron-Bridge takes section.field=value`
        : `Megatron-Bridge ${release.tag} has no field ${path}`,
    fallback: near === undefined ? OF_A_FORK : `did you mean ${near}? ${OF_A_FORK}`,
  };
}

/** What to do with an option that the release does not list. */
const OF_A_FORK = 'an option of your fork goes into engine.options, which passes it through';
