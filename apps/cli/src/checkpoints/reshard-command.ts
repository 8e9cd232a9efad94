import {
  LARGEST_METADATA_BYTES,
  type LeftBehind,
  leftBehindOf,
  ranksOfLayout,
  type ReshardLayout,
  type ReshardPlan,
  reshardWorkers,
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
import { columns, render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { VERSION } from '../version.ts';
import { progressOf } from './look-at-save.ts';
import { CLAIM_MOUNT, reshardJob } from './reshard-job.ts';
import { addStoreOptions, openAndList, openTarget, type StoreOptions, withStoreErrors } from './opened-store.ts';

interface ReshardOptions extends StoreOptions {
  readonly ranks?: number;
  readonly divide: keyof typeof DIVISIONS;
  readonly layout?: ReshardLayout;
  readonly worker?: { readonly index: number; readonly count: number };
  readonly plan?: boolean;
  readonly job?: string;
  readonly workers?: number;
  readonly image: string;
  readonly claim?: string;
  readonly credentialsSecret?: string;
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
    .option('--job <name>', 'print an indexed Job of Kubernetes whose workers do it together; write nothing')
    .option('--workers <count>', 'with --job: workers; default: as many as take ten minutes', ranksOf)
    .option('--image <name>', 'with --job: image of this program', `coxswain/cli:${VERSION}`)
    .option('--claim <name>', 'with --job: claim that holds source and target, which are paths in it')
    .option('--credentials-secret <name>', 'with --job: Secret with the credentials of the buckets')
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
  coxswain checkpoint reshard outputs/checkpoint/step-1000 resharded/step-1000 --layout tp=4,pp=32,fsdp=2
  coxswain checkpoint reshard s3://training/step-1000 s3://training/resharded --ranks 768 --job reshard-1000 | kubectl apply -f -`;

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
      throw new InvalidArgumentError(
        `It is a list of ${[...DEGREES.keys()].join(', ')}, each a number from 1 to ${String(MAX_RANKS)}, such as tp=4,pp=32,fsdp=2; ${JSON.stringify(part)} is none of them.`,
      );
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

const SOURCE = 'the directory of one save, such as checkpoint/step-1000';

async function reshard(session: Session, from: string, to: string, options: ReshardOptions): Promise<void> {
  if (options.job !== undefined) return await showJob(session, from, to, { ...options, job: options.job });
  const source = await openAndList(session, from, options, SOURCE);
  const planned = await planSave(source.store, source.files, {
    ...targetOf(options),
    signal: session.signal,
    maxMetadataBytes: LARGEST_METADATA_BYTES,
  });
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
  session.show({ ...outcome, bytes: progress.readBytes(), uncheckedBytes, ofRanks: ofRanks(planned.plan) }, (done) =>
    doneText(done, to),
  );
}

async function showJob(
  session: Session,
  from: string,
  to: string,
  options: ReshardOptions & { readonly job: string },
): Promise<void> {
  const target = targetOf(options);
  const outside = [from, to].find((place) => !isBucket(place));
  if (outside !== undefined && options.claim === undefined)
    throw new CliError(
      `Pods do not see ${outside}. Name the claim that holds it: --claim NAME. Source and target are then paths in the claim.`,
    );
  await requireApart(inPod(from), inPod(to));
  const size = isBucket(from) ? await sizeOf(session, from, options) : undefined;
  const workers = options.workers ?? (size && reshardWorkers(size.bytes));
  if (workers === undefined)
    throw new CliError(`The size of ${from} cannot be read here, because it is in a claim. Name --workers COUNT.`);
  const { layout, region, claim, credentialsSecret } = options;
  const ranks = 'ranks' in target ? target.ranks : ranksOfLayout(target.layout);
  const job = reshardJob({
    ...{ name: options.job, image: options.image, workers },
    command: [
      'checkpoint',
      'reshard',
      inPod(from),
      inPod(to),
      ...(layout === undefined ? ranksArguments(options) : layoutArguments(layout)),
    ],
    memory: { ranks, chunks: size?.chunks ?? LARGEST_CHUNKS, isBucket: isBucket(to) },
    environment: bucketVariables(session, region),
    ...(claim === undefined ? {} : { claim }),
    ...(credentialsSecret === undefined ? {} : { credentialsSecret }),
  });
  const format = session.outputFormat();
  session.print(render(job, format === 'table' ? 'yaml' : format, () => ''));
}

/** Of a save that cannot be read here: as many as 405B parameters with the moments of Adam have. */
const LARGEST_CHUNKS = { read: 3.5e6, written: 2.6e6 };

async function sizeOf(
  session: Session,
  from: string,
  options: ReshardOptions,
): Promise<{ readonly bytes: number; readonly chunks: { readonly read: number; readonly written: number } }> {
  const { store, files } = await openAndList(session, from, options, SOURCE);
  const { plan } = await planSave(store, files, {
    ...targetOf(options),
    signal: session.signal,
    maxMetadataBytes: LARGEST_METADATA_BYTES,
  });
  const chunks = { read: 0, written: 0 };
  for (const piece of plan.pieces) {
    chunks.read += piece.chunks.read;
    chunks.written += piece.chunks.written;
  }
  return { bytes: plan.bytes, chunks };
}

function isBucket(place: string): boolean {
  return place.startsWith('s3://');
}

/** Where a pod of the Job finds it. */
export function inPod(place: string): string {
  return isBucket(place) ? place : `${CLAIM_MOUNT}/${place.replace(/^\/+/, '')}`;
}

function ranksArguments({ ranks = 1, divide }: ReshardOptions): readonly string[] {
  return ['--ranks', String(ranks), '--divide', divide];
}

function layoutArguments({ tensor, pipeline, shard }: ReshardLayout): readonly string[] {
  return ['--layout', `tp=${String(tensor)},pp=${String(pipeline)},fsdp=${String(shard)}`];
}

/** Those that say where the store is. Credentials come from the Secret. */
function bucketVariables({ env }: Session, region: string | undefined): Readonly<Record<string, string>> {
  const names = ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL', 'AWS_REGION', 'AWS_DEFAULT_REGION'];
  const known = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { ...Object.fromEntries(known), ...(region === undefined ? {} : { AWS_REGION: region }) };
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
    ofRanks: ofRanks(plan),
    ...(shares && { workerBytes: shares.map((share) => share.reduce((sum, { bytes }) => sum + bytes, 0)) }),
    ...(layout !== undefined && layout.tensor > 1 && { undividedMatrices: undividedMatrices(plan) }),
  };
}

/** Objects that engines store for each rank, by sort. They are copied as they are: only the engine can divide them. */
function ofRanks({ pieces }: ReshardPlan): readonly LeftBehind[] {
  const objects = pieces.flatMap((piece) => piece.objects.map(({ object }) => object));
  return leftBehindOf({ tensors: [], objects }).filter(({ what }) => OF_RANKS.includes(what));
}

const OF_RANKS: readonly string[] = ['position in the data', 'random states'];

function ofRanksText(kept: readonly LeftBehind[]): string {
  return kept
    .map(
      ({ what, count, examples }) =>
        `\nKept as the ranks that saved it stored it, ${what}: ${examples.join(', ')}${count > examples.length ? ` and ${String(count - examples.length)} more` : ''}. At another number of data-parallel ranks an engine can refuse it, or starts without it.`,
    )
    .join('');
}

/** Matrices that tensor-parallel ranks are planned to store whole, because their names do not say how they are divided. */
function undividedMatrices({ pieces }: ReshardPlan): readonly string[] {
  return pieces.flatMap(({ sources }) =>
    sources.filter(({ key, shape }) => shape.length > 1 && tensorDim(key, shape) === undefined).map(({ key }) => key),
  );
}

const MAX_ROWS = 20;

function planText({
  bytes,
  pieces,
  ofRanks: kept,
  workerBytes,
  undividedMatrices = [],
}: ReturnType<typeof summaryOf>): string {
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
  return `${table}${more}\n\n${formatBytes(bytes)} are read once and written once. ${notes.join(' ')}${ofRanksText(kept)}`;
}

function doneText(
  {
    isComplete,
    pieces,
    others,
    bytes,
    uncheckedBytes,
    ofRanks: kept,
  }: ReshardOutcome & {
    readonly bytes: number;
    readonly uncheckedBytes: number;
    readonly ofRanks: readonly LeftBehind[];
  },
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
    ? `The save in ${to} is complete: ${read}${ofRanksText(kept)}`
    : `This worker finished its share: ${read} Other workers are still missing pieces.`;
}
