import { ENGINE_NAMES, ENGINE_RELEASES, type EngineName } from '@coxswain/api-types';
import {
  type Conversion,
  DEEPSPEED_POINTERS,
  judgeLoad,
  type KnownSave,
  knownSave,
  type LoadTarget,
  type LoadVerdict,
  universalCopyOf,
} from '@coxswain/checkpoint';
import { engineNamed } from '@coxswain/layout';
import { formatBytes, formatDuration } from '@coxswain/units';
import type { Command } from 'commander';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CliError } from '../cli-error.ts';
import { readLayoutFile } from '../files/read-layout-file.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import type { ReadSave } from './checkpoint-tables.ts';

interface LoadsOptions {
  readonly layout: string;
  readonly engine?: string;
  readonly canShrink?: true;
}

/** Adds `checkpoint loads`. `look`: reads the structure of the save in a directory. */
export function addLoadsCommand(
  checkpoint: Command,
  session: Session,
  look: (directory: string) => Promise<ReadSave>,
): void {
  checkpoint
    .command('loads')
    .argument('<directory>', 'directory of one save, such as checkpoint/step-1000')
    .description(
      'say whether a layout can load a save, why, and what is lost: as it is, divided anew by its engine, after a conversion, or not at all (exit code 1)',
    )
    .requiredOption('--layout <file>', 'layout that is to load it, as in examples/layouts; - is standard input')
    .option(
      '--engine <name[@release]>',
      'engine that is to load it; absent: the one of the layout file, if it names one',
    )
    .option('--can-shrink', 'the job may go on with fewer GPUs by itself: warn if its optimizer does not allow it')
    .addHelpText('after', HELP)
    .action(async (directory: string, options: LoadsOptions) => {
      const target = targetOf(options);
      const saved = knownSave(await look(directory));
      if (saved === undefined)
        throw new CliError(`${directory} holds no checkpoint of a known format. Name the directory of one save.`);
      const verdict = judgeLoad({ ...saved, ...(await universalCopy(saved, directory)) }, target);
      session.show(verdict, verdictText);
      if (verdict.verdict === 'cannot') session.setExitCode(1);
    });
}

const HELP = `
Verdicts:
  loads as is       no degree differs
  engine reshards   the engine divides the state anew while it loads
  needs conversion  a tool has to rewrite the save before; its bytes and an estimate of its time are shown
  cannot            exit code 1; the reason says what to do instead

Example:
  coxswain checkpoint loads outputs/iter_0001000 --layout examples/layouts/02-ptd-p.yaml --engine megatron-lm@core_v0.16.1`;

function targetOf({ layout: path, engine, canShrink }: LoadsOptions): LoadTarget {
  const read = readLayoutFile(path);
  if (read.kind === 'job')
    throw new CliError(`${path} holds the layouts of several roles. Give the layout of the role that loads the save.`);
  const { layout, engine: stated } = read.document;
  return {
    layout,
    ...(engine === undefined ? statedEngine(stated) : namedEngine(engine)),
    ...(canShrink === true ? { canShrink } : {}),
  };
}

/** Of a layout file, which can name engines that start no jobs. */
function statedEngine(
  stated: { readonly name: string; readonly version?: string | undefined } | undefined,
): Pick<LoadTarget, 'engine' | 'release'> {
  const engine = ENGINE_NAMES.find((name) => name === stated?.name);
  if (engine === undefined) return {};
  return stated?.version === undefined ? { engine } : { engine, release: stated.version };
}

function namedEngine(text: string): Pick<LoadTarget, 'engine' | 'release'> {
  const [name = '', release] = text.split('@', 2);
  const named = engineNamed(name);
  const engine = ENGINE_NAMES.find((one) => one === named);
  if (engine === undefined)
    throw new CliError(`--engine ${text}: there is no engine ${name}. Engines are ${ENGINE_NAMES.join(', ')}.`);
  if (release !== undefined && !isRelease(engine, release))
    throw new CliError(
      `--engine ${text}: ${engine} has no release ${release} here. Releases are ${ENGINE_RELEASES[engine].join(', ')}.`,
    );
  return release === undefined ? { engine } : { engine, release };
}

function isRelease(engine: EngineName, release: string): boolean {
  return ENGINE_RELEASES[engine].includes(release);
}

const MAX_NAME_BYTES = 4096;

/** DeepSpeed's converter writes its result beside the save, and its name into `latest_universal`. */
async function universalCopy({ format }: KnownSave, directory: string): Promise<Pick<KnownSave, 'hasUniversal'>> {
  if (format !== 'deepspeed') return {};
  const { folder, tag } = await placeOf(resolve(directory));
  const copy = universalCopyOf(tag, await nameIn(join(folder, DEEPSPEED_POINTERS.universal)));
  if (copy === undefined) return { hasUniversal: false };
  const states = await readdir(join(folder, copy, 'zero')).catch(() => []);
  return { hasUniversal: states.length > 0 };
}

/** The folder of saves and the name of the save in it. A folder of saves stands for the one that its `latest` names. */
async function placeOf(directory: string): Promise<{ readonly folder: string; readonly tag: string }> {
  const newest = await nameIn(join(directory, DEEPSPEED_POINTERS.native));
  return newest === ''
    ? { folder: dirname(directory), tag: basename(directory) }
    : { folder: directory, tag: newest.trim() };
}

/** The text of a file that names a save; empty if there is none, or if it is too long to be a name. */
async function nameIn(file: string): Promise<string> {
  const bytes = (await stat(file).catch(() => undefined))?.size ?? 0;
  return bytes > MAX_NAME_BYTES ? '' : await readFile(file, 'utf8').catch(() => '');
}

function verdictText({ verdict, because, conversion, warnings, notes, basis }: LoadVerdict): string {
  const rows = [
    ['Verdict', verdict],
    ['Because', `it ${because}.`],
    ['Based on', basis === 'files' ? 'its files' : 'its format; its files do not say at which degrees it was saved'],
    ...(conversion === undefined ? [] : conversionRows(conversion)),
    ...warnings.map((warning) => ['Warning', warning]),
    ...notes.map((note) => ['Note', note]),
  ];
  return columns(rows);
}

function conversionRows({ tool, bytes, seconds, bytesPerSecond }: Conversion): string[][] {
  if (bytes === undefined || seconds === undefined) return [['Tool', tool]];
  const rate = `${formatBytes(bytesPerSecond)}/s`;
  return [
    ['Tool', tool],
    ['Cost', `${formatBytes(bytes)} read and as many written, about ${formatDuration(seconds * 1000)} at ${rate}`],
  ];
}
