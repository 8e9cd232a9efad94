import {
  ranksOfLayout,
  type ReshardLayout,
  type ReshardPlan,
  sharesOf,
  tensorDim,
  UnplannableSave,
  UnreadableSave,
} from '@coxswain/checkpoint';
import {
  areNested,
  DIVISIONS,
  planSave,
  type ReshardOutcome,
  type ReshardTarget,
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
  readonly ranks?: number;
  readonly divide: keyof typeof DIVISIONS;
  readonly layout?: ReshardLayout;
  readonly worker?: { readonly index: number; readonly count: number };
  readonly plan?: boolean;
}

/** Adds `checkpoint reshard`, which divides a save anew. */
export function addReshardCommand(checkpoint: Command, session: Session): void {
  addStoreOptions(checkpoint.command('reshard'))
    .argument('<source>', 'directory of one save of PyTorch DCP, or s3://BUCKET/PREFIX')
    .argument('<target>', 'empty directory or prefix for the new save')
    .description('reshard a checkpoint of PyTorch DCP for another number of ranks: write it anew, divided for them')
    .option('--ranks <count>', 'ranks that are to load it', ranksOf)
    .addOption(
      new Option('--divide <how>', 'rows: as FSDP does; columns: the second dim of each tensor')
        .choices(Object.keys(DIVISIONS))
        .default('rows'),
    )
    .addOption(
      new Option('--layout <degrees>', 'in place of --ranks: the layout that is to load it, such as tp=4,pp=32,fsdp=2')
        .argParser(layoutOf)
        .conflicts(['ranks', 'divide']),
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
  coxswain checkpoint reshard outputs/checkpoint/step-1000 resharded/step-1000 --ranks 768 --plan
  coxswain checkpoint reshard outputs/checkpoint/step-1000 resharded/step-1000 --layout tp=4,pp=32,fsdp=2`;

const MAX_RANKS = 100_000;

/** An option's number of ranks. */
export function ranksOf(text: string): number {
  const ranks = wholeNumber(text);
  if (ranks >= 1 && ranks <= MAX_RANKS) return ranks;
  throw new InvalidArgumentError(`It is a number from 1 to ${String(MAX_RANKS)}.`);
}

/** `tp=4,pp=32,fsdp=2`; degrees that are not named are 1. */
function layoutOf(text: string): ReshardLayout {
  const layout = { tensor: 1, pipeline: 1, shard: 1 };
  for (const part of text.split(',')) {
    const [name = '', ways = ''] = /^(\w+)=(\d{1,6})$/.exec(part)?.slice(1) ?? [];
    const field = DEGREES.get(name);
    const degree = Number(ways);
    if (field === undefined || !(degree >= 1 && degree <= MAX_RANKS))
      throw new InvalidArgumentError(`It is a list of ${[...DEGREES.keys()].join(', ')}, such as tp=4,pp=32,fsdp=2.`);
    layout[field] = degree;
  }
  if (ranksOfLayout(layout) > MAX_RANKS) throw new InvalidArgumentError(`It has more than ${String(MAX_RANKS)} ranks.`);
  return layout;
}

const DEGREES: ReadonlyMap<string, keyof ReshardLayout> = new Map([
  ['tp', 'tensor'],
  ['pp', 'pipeline'],
  ['fsdp', 'shard'],
]);

function workerOf(text: string): { readonly index: number; readonly count: number } {
  const [index = NaN, count = NaN] = /^(\d{1,4})\/(\d{1,4})$/.exec(text)?.slice(1).map(Number) ?? [];
  if (index < count) return { index, count };
  throw new InvalidArgumentError('It is INDEX/COUNT, such as 0/4; the first worker has index 0.');
}

async function reshard(session: Session, from: string, to: string, options: ReshardOptions): Promise<void> {
  const source = await openAndList(session, from, options, 'the directory of one save, such as checkpoint/step-1000');
  const planned = await planSave(source.store, source.files, { ...targetOf(options), signal: session.signal });
  if (options.plan === true) {
    session.show(summaryOf(planned.plan, options), planText);
    return;
  }
  await requireApart(from, to);
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

function targetOf({ ranks, divide, layout }: ReshardOptions): ReshardTarget {
  if (layout !== undefined) return { layout };
  if (ranks === undefined)
    throw new CliError('Name the ranks that are to load it: --ranks COUNT, or --layout tp=4,pp=32.');
  return { ranks, divide };
}

/** A save inside of another one is taken for a part of it. */
export async function requireApart(from: string, to: string): Promise<void> {
  if (await areNested(from, to))
    throw new CliError(`${to} and ${from} are one in the other. Name a target outside of the source.`);
}

/** What cannot be divided anew is an error of the save, which the user can do something about. */
export async function withReshardErrors(work: () => Promise<void>): Promise<void> {
  try {
    await withStoreErrors(work);
  } catch (error) {
    if (error instanceof SourceDamaged || error instanceof UnplannableSave) throw new CliError(error.message);
    if (error instanceof UnreadableSave) throw new CliError(`${error.message}.`);
    throw error;
  }
}

function summaryOf(plan: ReshardPlan, { layout, worker }: ReshardOptions) {
  const shares = worker === undefined ? undefined : sharesOf(plan, worker.count);
  return {
    bytes: plan.bytes,
    pieces: plan.pieces.map(({ bytes, files, sources, objects, chunks }) => ({
      bytes,
      files: files.size,
      tensors: sources.length,
      objects: objects.length,
      chunksRead: chunks.read,
      chunksWritten: chunks.written,
    })),
    ...(shares && { workerBytes: shares.map((share) => share.reduce((sum, { bytes }) => sum + bytes, 0)) }),
    ...(layout !== undefined && layout.tensor > 1 && { undividedMatrices: undividedMatrices(plan) }),
  };
}

/** Matrices that tensor-parallel ranks are planned to store whole, because their names do not say how they are divided. */
function undividedMatrices({ pieces }: ReshardPlan): readonly string[] {
  return pieces.flatMap(({ sources }) =>
    sources.filter(({ key, shape }) => shape.length > 1 && tensorDim(key, shape) === undefined).map(({ key }) => key),
  );
}

const MAX_ROWS = 20;

function planText({ bytes, pieces, workerBytes, undividedMatrices = [] }: ReturnType<typeof summaryOf>): string {
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
  const notes = [
    ...(workerBytes === undefined
      ? []
      : [`The largest share of a worker is ${formatBytes(Math.max(...workerBytes))}.`]),
    ...(undividedMatrices.length === 0
      ? []
      : [
          `${formatCount(undividedMatrices.length, 'tensor')}, such as ${undividedMatrices[0] ?? ''}, ${undividedMatrices.length === 1 ? 'has a name' : 'have names'} that tensor parallelism is not known to divide, so they are divided by fsdp alone.`,
        ]),
    'Nothing was written: leave out --plan to write the save.',
  ];
  return `${table}${more}\n\n${formatBytes(bytes)} are read once and written once. ${notes.join(' ')}`;
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
