/** Which arguments of the user contradict what layout and job say, or are none of this release? */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { ownerOf } from './owned-options.ts';
import { readArguments } from './read-arguments.ts';
import type { Asked, Told } from './rendered-field.ts';

/** The first refusal; undefined where all of `engine.args` may stand behind what is told. */
export function argumentRefusal({ spec, release, program }: Asked, told: readonly Told[]): EngineRefusal | undefined {
  const words = spec.engine.args ?? [];
  const { read, problems } = readArguments(words, release.options);
  // A program of the user's own may add options to the parser, and what follows them is its own affair.
  const strange = problems.find(({ kind }) => program !== 'own' || (kind !== 'unknown' && kind !== 'stray'));
  if (strange !== undefined) {
    const near = strange.kind === 'unknown' ? nearestFlag(strange.word, release) : undefined;
    return {
      rule: 'arguments-of-this-release',
      field: 'engine.args',
      why: `${strange.sentence} of Megatron-LM ${release.tag}`,
      fallback: near === undefined ? 'leave it out' : `did you mean ${near}?`,
    };
  }
  const flags = new Map(
    told.flatMap((one) => (one.kind === 'flag' ? [[release.options.get(one.flag)?.dest ?? '', one] as const] : [])),
  );
  // What stands in the command is read before what is rendered, which says otherwise where it is silent.
  const inCommand = readArguments(spec.engine.command?.slice(1) ?? [], release.options).read;
  const written = [
    ...inCommand.map((one) => ({ ...one, place: 'engine.command' })),
    ...read.map((one) => ({ ...one, place: 'engine.args' })),
  ];
  for (const { flag, dest, values, place } of written) {
    const ours = flags.get(dest);
    const field = ours?.field ?? ownerOf(dest, spec);
    if (field === undefined) continue;
    const isSame = ours?.flag === flag && (ours.values.length === 0 || ours.values.join(' ') === values.join(' '));
    if (isSame) continue;
    const said = ours === undefined ? 'which says otherwise by leaving it out' : `which makes ${text(ours)}`;
    return {
      rule: 'arguments-agree-with-job',
      field: place,
      why: `${flag} in ${place} is what ${field} says, ${said}`,
      fallback: `say it by ${field}, and leave ${flag} out`,
    };
  }
  return undefined;
}

/** Compared without their dashes, which all have. */
function nearestFlag(word: string, { options }: Asked['release']): string | undefined {
  const names = [...options.keys()].filter((flag) => flag.startsWith('--')).map((flag) => flag.slice(2));
  const near = nearestWord(names, word.replace(/^-+/, '').replaceAll('_', '-'));
  return near === undefined ? undefined : `--${near}`;
}

function text({ flag, values }: { readonly flag: string; readonly values: readonly string[] }): string {
  return [flag, ...values].join(' ');
}
