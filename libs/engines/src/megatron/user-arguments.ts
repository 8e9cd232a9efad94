/** Refuses arguments of the user that contradict layout and job, or that the release does not have. */
import { nearestWord } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';
import { ownerOf } from './owned-options.ts';
import { type ArgumentProblem, readArguments } from './read-arguments.ts';
import type { MegatronJob, RenderedField } from './rendered-field.ts';

/** One refusal for all of `engine.args` and the command that cannot follow the rendered arguments; undefined if all can. */
export function argumentRefusal(job: MegatronJob, fields: readonly RenderedField[]): EngineRefusal | undefined {
  const { problems } = readArguments(job.spec.engine.args ?? [], job.release.options);
  // An option with a value that the release does not take is named once, and is the fork's own affair if it is passed through.
  const misread = problems.filter(({ kind }) => kind === 'value').map(({ word }) => word);
  const decided = decidedArguments(job, fields).filter(({ flag }) => !misread.includes(flag));
  return inOne([...misreadArguments(job), ...decided.map(({ refusal }) => refusal)]);
}

/** What the program of the job may know and the release does not list, for a note; undefined: nothing. */
export function passedThrough({ spec, release, program }: MegatronJob): string | undefined {
  if (!isOfUser({ spec, program })) return undefined;
  const { problems } = readArguments(spec.engine.args ?? [], release.options);
  const words = problems
    .filter((problem) => problem.kind !== 'stray' && isForkAffair(problem, release))
    .map(({ kind, word, sentence }) => (kind === 'value' ? sentence.replace(/ is not .*$/, '') : word));
  if (words.length === 0) return undefined;
  return `Megatron-LM ${release.tag} does not list ${words.join(', ')}; passed to your program as given, and not priced`;
}

/** Whether the job names the program, which may be that of a fork. */
function isOfUser({ spec, program }: Pick<MegatronJob, 'spec' | 'program'>): boolean {
  return program === 'own' || spec.engine.command !== undefined;
}

/** Whether a fork may know what the release does not. A word that is nearly an option of the release is taken for a slip. */
function isForkAffair({ kind, word, isChoice }: ArgumentProblem, release: MegatronJob['release']): boolean {
  if (kind === 'unknown') return !isAbbreviation(word, release) && nearestFlag(word, release) === undefined;
  return kind === 'stray' || (kind === 'value' && isChoice === true);
}

/** The parser of Megatron-LM takes none. */
function isAbbreviation(word: string, { options }: MegatronJob['release']): boolean {
  return [...options.keys()].some((flag) => flag.startsWith(word));
}

/** What one refusal has of all: each reason once, and what to do about each. */
function inOne(refusals: readonly EngineRefusal[]): EngineRefusal | undefined {
  const [first] = refusals;
  if (first === undefined) return undefined;
  const all = (of: (one: EngineRefusal) => string): string => [...new Set(refusals.map(of))].join('; ');
  return { ...first, why: all(({ why }) => why), fallback: all(({ fallback }) => fallback) };
}

function misreadArguments({ spec, release, program }: MegatronJob): readonly EngineRefusal[] {
  const { problems } = readArguments(spec.engine.args ?? [], release.options);
  // A program of the user's own may add options to the parser, and what follows them is its own affair.
  const mayAdd = isOfUser({ spec, program });
  const misread = problems.filter((problem) => !mayAdd || !isForkAffair(problem, release));
  // Behind an option that is not known stand its values.
  const hasUnknown = misread.some(({ kind }) => kind === 'unknown');
  const named = hasUnknown ? misread.filter(({ kind }) => kind !== 'stray') : misread;
  return named.map(({ kind, word, sentence }) => {
    const near = kind === 'unknown' ? nearestFlag(word, release) : undefined;
    return {
      rule: 'arguments-of-this-release',
      field: 'engine.args',
      why: `${sentence} of Megatron-LM ${release.tag}`,
      fallback: near === undefined ? OF_A_FORK : `did you mean ${near}? ${OF_A_FORK}`,
    };
  });
}

interface Decided {
  readonly flag: string;
  readonly refusal: EngineRefusal;
}

function decidedArguments({ spec, release }: MegatronJob, fields: readonly RenderedField[]): readonly Decided[] {
  const flags = new Map(
    fields.flatMap((one) => (one.kind === 'flag' ? [[release.options.get(one.flag)?.dest ?? '', one] as const] : [])),
  );
  // Arguments in the command precede the rendered ones, and apply wherever these leave an option out.
  const inCommand = readArguments(spec.engine.command?.slice(1) ?? [], release.options).read;
  const written = [
    ...inCommand.map((one) => ({ ...one, place: 'engine.command' })),
    ...readArguments(spec.engine.args ?? [], release.options).read.map((one) => ({ ...one, place: 'engine.args' })),
  ];
  return written.flatMap(({ flag, dest, values, place }) => {
    const ours = flags.get(dest);
    const field = ours?.field ?? ownerOf(dest, spec);
    if (field === undefined) return [];
    const isSame = ours?.flag === flag && (ours.values.length === 0 || ours.values.join(' ') === values.join(' '));
    if (isSame) return [];
    const conflict = ours === undefined ? `which ${field} decides` : `and ${field} renders ${text(ours)}`;
    const refusal = {
      rule: 'arguments-agree-with-job',
      field: place,
      why: `${place} holds ${flag}, ${conflict}`,
      fallback:
        field === 'training'
          ? `leave ${flag} out: training has no field for it`
          : `set ${field} instead, and leave ${flag} out`,
    };
    return [{ flag, refusal }];
  });
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
