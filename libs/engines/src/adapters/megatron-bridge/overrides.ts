/** Which settings of the user may stand over what is rendered? They are written as Hydra has them: `section.field=value`. */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { ownerOf } from '../../megatron/owned-options.ts';
import type { Asked } from '../../megatron/rendered-field.ts';
import { decidedBy } from './decided.ts';
import { bridgeRelease, type BridgeRelease } from './fields.ts';
import { flagsOfField } from './settings.ts';

const OVERRIDE = /^([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*)(\.[A-Za-z0-9_.]+)?=/;
/** Sections that say again what other fields say. */
const SECTIONS: Readonly<Record<string, string>> = {
  comm_overlap: 'layout.communication',
  mixed_precision: 'layout.kernel.precision',
};

/** Of the first argument that cannot stay. A program of the user's own reads arguments of its own as well. */
export function overrideRefusal(asked: Asked, said: ReadonlyMap<string, string>): EngineRefusal | undefined {
  const { args = [], command } = asked.spec.engine;
  const decided = decidedBy(asked);
  const release = bridgeRelease(asked.spec.engine.release);
  for (const argument of args) {
    const path = OVERRIDE.exec(argument)?.[1];
    const isKnown = path !== undefined && release.fields.has(path);
    if (!isKnown && command === undefined) return unknown(argument, { path, release });
    if (!isKnown) continue;
    const owner =
      said.get(path) ??
      SECTIONS[path.split('.')[0] ?? ''] ??
      decided.find(([, settings]) => path in settings)?.[0] ??
      ownerOfFlags(flagsOfField(path), asked);
    if (owner !== undefined) return decidedBefore(path, owner);
  }
  return undefined;
}

function ownerOfFlags(flags: readonly string[], { release, spec }: Asked): string | undefined {
  const owners = flags.flatMap((flag) => ownerOf(release.options.get(flag)?.dest ?? '', spec) ?? []);
  return owners[0];
}

function decidedBefore(path: string, owner: string): EngineRefusal {
  return {
    rule: 'arguments-agree-with-job',
    field: 'engine.args',
    why: `${path} in engine.args is what ${owner} says, also by leaving it out`,
    fallback: `say it by ${owner}, and leave ${path} out`,
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
