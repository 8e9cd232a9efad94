import { type ReshardPlan, UnplannableSave, UnreadableSave } from '@coxswain/checkpoint';
import {
  areNested,
  DIVISIONS,
  planSave,
  type ReshardOutcome,
  runReshard,
  SourceDamaged,
} from '@coxswain/checkpoint-store';
import { formatBytes, formatCount } from '@coxswain/units';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { progressOf } from './look-at-save.ts';
import { addStoreOptions, openAndList, openTarget, type StoreOptions, withStoreErrors } from './opened-store.ts';

interface ReshardOptions extends StoreOptions {
  readonly ranks: number;
  readonly divide: keyof typeof DIVISIONS;
  readonly worker?: { readonly index: number; readonly count: number };
  readonly plan?: boolean;
}

/** Adds `checkpoint reshard`, which divides a save anew. */
export function addReshardCommand(checkpoint: Command, session: Session): void {
  addStoreOptions(checkpoint.command('reshard'))
    .argument('<source>', 'directory of one save of PyTorch DCP, or s3://BUCKET/PREFIX')
    .argument('<target>', 'empty directory or prefix for the new save')
    .description('reshard a checkpoint of PyTorch DCP for another number of ranks: write it anew, divided for them')
    .requiredOption('--ranks <count>', 'ranks that are to load it', ranksOf)
    .addOption(
      new Option('--divide <how>', 'rows: as FSDP does; columns: the second dim of each tensor')
        .choices(Object.keys(DIVISIONS))
        .default('rows'),
    )
    .option('--plan', 'show the plan; write nothing')
    .option('--worker <index/count>', 'do only the share of this worker, such as 0/4', workerOf)
    .addHelpText('after', EXAMPLES)
    .action(async (source: string, target: string, options: ReshardOptions) => {
      await withReshardErrors(() => reshard(session, source, target, options));
    });
}

const EXAMPLES = `
Each byte is read once, compared with its checksum, and written once. The new save counts as one only when all of it is written. A run that was
interrupted goes on where it was.

Examples:
  coxswain checkpoint reshard outputs/checkpoint/step-1000 resharded/step-1000 --ranks 768
  coxswain checkpoint reshard outputs/checkpoint/step-1000 resharded/step-1000 --ranks 768 --plan`;

const MAX_RANKS = 100_000;

function ranksOf(text: string): number {
  const ranks = wholeNumber(text);
  if (ranks >= 1 && ranks <= MAX_RANKS) return ranks;
  throw new InvalidArgumentError(`It is a number from 1 to ${String(MAX_RANKS)}.`);
}

function workerOf(text: string): { readonly index: number; readonly count: number } {
  const [index = NaN, count = NaN] = /^(\d{1,4})\/(\d{1,4})$/.exec(text)?.slice(1).map(Number) ?? [];
  if (index < count) return { index, count };
  throw new InvalidArgumentError('It is INDEX/COUNT, such as 0/4; the first worker has index 0.');
}

async function reshard(session: Session, from: string, to: string, options: ReshardOptions): Promise<void> {
  const source = await openAndList(session, from, options, 'the directory of one save, such as checkpoint/step-1000');
  const { ranks, divide } = options;
  const planned = await planSave(source.store, source.files, { ranks, divide, signal: session.signal });
  if (options.plan === true) {
    session.show(summaryOf(planned.plan), planText);
    return;
  }
  if (await areNested(from, to))
    throw new CliError(`${to} and ${from} are one in the other. Name a target outside of the source.`);
  const target = await openTarget(session, to, options);
  const progress = progressOf(session, source.files);
  let uncheckedBytes = 0;
  const outcome = await runReshard({
    ...planned,
    source: source.store,
    files: source.files,
    target,
    signal: session.signal,
    onBytes: progress.add,
    onUnchecked: (bytes) => (uncheckedBytes += bytes),
    ...(options.worker === undefined ? {} : { worker: options.worker }),
  });
  session.show({ ...outcome, bytes: progress.readBytes(), uncheckedBytes }, (done) => doneText(done, to));
}

/** What cannot be divided anew is an error of the save, which the user can do something about. */
async function withReshardErrors(work: () => Promise<void>): Promise<void> {
  try {
    await withStoreErrors(work);
  } catch (error) {
    if (error instanceof SourceDamaged || error instanceof UnplannableSave) throw new CliError(error.message);
    if (error instanceof UnreadableSave) throw new CliError(`${error.message}.`);
    throw error;
  }
}

function summaryOf(plan: ReshardPlan) {
  return {
    bytes: plan.bytes,
    pieces: plan.pieces.map(({ bytes, files, tensors, objects }) => ({
      bytes,
      files: files.size,
      tensors: tensors.length,
      objects: objects.length,
      chunksRead: tensors.reduce((sum, { sources }) => sum + sources.length, 0),
      chunksWritten: tensors.reduce((sum, { targets }) => sum + targets.length, 0),
    })),
  };
}

const MAX_ROWS = 20;

function planText({ bytes, pieces }: ReturnType<typeof summaryOf>): string {
  const rows = pieces
    .slice(0, MAX_ROWS)
    .map((piece, index) => [
      String(index),
      formatBytes(piece.bytes),
      String(piece.tensors),
      String(piece.chunksRead),
      String(piece.chunksWritten),
      String(piece.files),
    ]);
  const table = columns([['PIECE', 'SIZE', 'TENSORS', 'CHUNKS READ', 'CHUNKS WRITTEN', 'FILES'], ...rows]);
  const more = pieces.length > MAX_ROWS ? `\n… and ${String(pieces.length - MAX_ROWS)} more; see --output json` : '';
  return `${table}${more}\n\n${formatBytes(bytes)} are read once and written once. Nothing was written: leave out --plan to write the save.`;
}

function doneText(
  {
    isComplete,
    pieces,
    others,
    bytes,
    uncheckedBytes,
  }: ReshardOutcome & { readonly bytes: number; readonly uncheckedBytes: number },
  to: string,
): string {
  const found = pieces.found === 0 ? '' : `; already there: ${String(pieces.found)}`;
  const beside = others === 0 ? '' : `, ${formatCount(others, 'other file')} copied`;
  const unchecked =
    uncheckedBytes === 0
      ? ''
      : ` ${formatBytes(uncheckedBytes)} have no CRC-32 in the source, so nothing was compared.`;
  const read = `${formatBytes(bytes)} read, ${formatCount(pieces.done, 'piece')} written${found}${beside}.${unchecked}`;
  return isComplete
    ? `The save in ${to} is complete: ${read}`
    : `This worker finished its share: ${read} Other workers are still missing pieces.`;
}
