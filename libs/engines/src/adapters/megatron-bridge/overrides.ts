/** Refuses overrides of the user (`section.field=value`, as Hydra writes them) that contradict the job. */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { ownerOf } from '../../megatron/owned-options.ts';
import type { MegatronJob } from '../../megatron/rendered-field.ts';
import { decidedBy } from './decided.ts';
import { bridgeRelease, type BridgeRelease } from './fields.ts';
import { flagsOfField } from './settings.ts';

const OVERRIDE = /^([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*)(\.[A-Za-z0-9_.]+)?=/;
/** Sections that repeat other fields. */
const SECTIONS: Readonly<Record<string, string>> = {
  comm_overlap: 'layout.communication',
  mixed_precision: 'layout.kernel.precision',
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
    const owner =
      configuration.get(path) ??
      SECTIONS[path.split('.')[0] ?? ''] ??
      decided.find(([, settings]) => path in settings)?.[0] ??
      ownerOfFlags(flagsOfField(path), job);
    if (owner !== undefined) return decidedBefore(path, owner);
  }
  return undefined;
}

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
    fallback: near === undefined ? 'leave it out' : `did you mean ${near}?`,
  };
}
