import {
  compareSaves,
  type Difference,
  type Listed,
  type PartDifferences,
  type SaveDifferences,
  storedChecksums,
} from '@coxswain/checkpoint';
import { runReading } from '@coxswain/checkpoint-store';
import { formatCount } from '@coxswain/units';
import { type Command, Option } from 'commander';
import { crc32 } from 'node:zlib';
import { CliError } from '../cli-error.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { progressOf, verifyFiles } from './look-at-save.ts';
import { addStoreOptions, openAndList, type StoreOptions, withStoreErrors } from './opened-store.ts';

const LOCATION = 'the directory of one save, such as checkpoint/step-1000';

interface DiffOptions extends StoreOptions {
  readonly level: 'V1' | 'V3';
}

/** Adds `checkpoint diff`. */
export function addDiffCommand(checkpoint: Command, session: Session): void {
  addStoreOptions(checkpoint.command('diff'))
    .argument('<save>', `${LOCATION}, or s3://BUCKET/PREFIX`)
    .argument('<other>', 'the save to compare it with')
    .description(
      'show how two saves differ: tensors, how they are divided, objects, files, step and degrees (exit code 1 if they differ)',
    )
    .addOption(
      new Option('--level <level>', 'V1: metadata, and names and sizes of files. V3: all stored bytes too')
        .choices(['V1', 'V3'])
        .default('V1'),
    )
    .addHelpText(
      'after',
      '\nExample:\n  coxswain checkpoint diff run-7/step-1000 s3://training/run-7/step-1000 --level V3',
    )
    .action(async (one: string, other: string, options: DiffOptions) => {
      const found = await withStoreErrors(async () =>
        compareSaves(await readSave(session, one, options), await readSave(session, other, options)),
      );
      session.show(found, (each) => differencesText(each, options.level));
      if (!found.isSame) session.setExitCode(1);
    });
}

async function readSave(session: Session, location: string, options: DiffOptions) {
  const { store, files } = await openAndList(session, location, options, LOCATION);
  const { add: onBytes } = progressOf(session, files);
  const { format, state, verdict, findings } = await verifyFiles(session, store, files, { level: 'V1', onBytes });
  if (state === undefined)
    throw new CliError(`${location} holds no checkpoint whose metadata can be read. Name ${LOCATION}.`);
  if (verdict === 'damaged' || verdict === 'incomplete') {
    const [worst] = findings.filter(({ kind }) => kind === verdict);
    throw new CliError(
      `${location} is ${verdict}, so it is not compared. ${worst?.sentence ?? ''} \`coxswain checkpoint verify ${location}\` lists all findings.`,
    );
  }
  if (options.level !== 'V3') return { format, state, files };
  const { signal } = session;
  const checksums = await runReading(store, files, storedChecksums(state, files, crc32), { onBytes, signal });
  return { format, state, files, checksums };
}

/** One paragraph for each kind of difference. */
export function differencesText(found: SaveDifferences, level: DiffOptions['level']): string {
  if (found.isSame)
    return level === 'V3'
      ? 'The same tensors, objects and files, with the same stored bytes.'
      : 'The same, as far as their metadata and the sizes of their files say.';
  const { notCompared } = found;
  const parts = [
    table('Facts', found.facts.length, found.facts),
    names('Only in the first', found.onlyInOne, 'tensor'),
    names('Only in the second', found.onlyInOther, 'tensor'),
    table('Tensors of another dtype, shape or kind', found.changed.count, found.changed.first),
    names('Divided differently', found.dividedDifferently, 'tensor'),
    names('Other stored bytes', found.otherBytes, 'tensor'),
    ...partsText(found.objects, 'object'),
    ...partsText(found.files, 'file'),
    names('Not compared, because a save does not say where their bytes are', notCompared?.tensors, 'tensor'),
    names('Not compared, because a save does not say where their bytes are', notCompared?.objects, 'object'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function partsText(found: PartDifferences, what: 'object' | 'file'): readonly string[] {
  return [
    names('Only in the first', found.onlyInOne, what),
    names('Only in the second', found.onlyInOther, what),
    table(
      what === 'file' ? 'Files of another size' : 'Objects of another size',
      found.changed.count,
      found.changed.first,
    ),
    names(what === 'file' ? 'Other bytes beside tensors' : 'Other stored bytes', found.otherBytes, what),
  ];
}

function table(title: string, count: number, rows: readonly Difference[]): string {
  if (count === 0) return '';
  return `${title}:\n${columns(rows.map(({ name, one = '-', other = '-' }) => [quoted(name), quoted(one), quoted(other)]))}${more(count, rows.length)}`;
}

function names(title: string, list: Listed<string> | undefined, what: 'tensor' | 'object' | 'file'): string {
  const { count, first } = list ?? { count: 0, first: [] };
  if (count === 0) return '';
  return `${title} (${formatCount(count, what)}):\n${first.map((name) => `  ${quoted(name)}`).join('\n')}${more(count, first.length)}`;
}

function more(count: number, shown: number): string {
  return count > shown ? `\n  and ${count - shown} more` : '';
}

/** Names in a save are any text. */
function quoted(text: string): string {
  return /^[\x21-\x7e][\x20-\x7e]*$/.test(text) ? text : JSON.stringify(text);
}
