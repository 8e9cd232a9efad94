/** Refuses arguments of the user that contradict layout and job, or that the release does not have. */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { ownerOf } from './owned-options.ts';
import { readArguments } from './read-arguments.ts';
import type { MegatronJob, RenderedField } from './rendered-field.ts';

/** The first refusal; undefined if all of `engine.args` can follow the rendered arguments. */
export function argumentRefusal(
  { spec, release, program }: MegatronJob,
  fields: readonly RenderedField[],
): EngineRefusal | undefined {
  const words = spec.engine.args ?? [];
  const { read, problems } = readArguments(words, release.options);
  // A program of the user's own may add options to the parser, and what follows them is its own affair.
  const misread = problems.find(({ kind }) => program !== 'own' || (kind !== 'unknown' && kind !== 'stray'));
  if (misread !== undefined) {
    const near = misread.kind === 'unknown' ? nearestFlag(misread.word, release) : undefined;
    return {
      rule: 'arguments-of-this-release',
      field: 'engine.args',
      why: `${misread.sentence} of Megatron-LM ${release.tag}`,
      fallback: near === undefined ? OF_A_FORK : `did you mean ${near}? ${OF_A_FORK}`,
    };
  }
  const flags = new Map(
    fields.flatMap((one) => (one.kind === 'flag' ? [[release.options.get(one.flag)?.dest ?? '', one] as const] : [])),
  );
  // Arguments in the command precede the rendered ones, and apply wherever these leave an option out.
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
    const conflict = ours === undefined ? `which ${field} decides` : `and ${field} renders ${text(ours)}`;
    return {
      rule: 'arguments-agree-with-job',
      field: place,
      why: `${place} holds ${flag}, ${conflict}`,
      fallback: `set ${field} instead, and leave ${flag} out`,
    };
  }
  return undefined;
}

const OF_A_FORK = 'an option of your fork goes into engine.options, which passes it through';

/** Compared without their dashes, which all have. */
function nearestFlag(word: string, { options }: MegatronJob['release']): string | undefined {
  const names = [...options.keys()].filter((flag) => flag.startsWith('--')).map((flag) => flag.slice(2));
  const near = nearestWord(names, word.replace(/^-+/, '').replaceAll('_', '-'));
  return near === undefined ? undefined : `--${near}`;
}

function text({ flag, values }: { readonly flag: string; readonly values: readonly string[] }): string {
  return [flag, ...values].join(' ');
}
