/** Converts a save in a pod of its own, for the operator. The termination message is the answer. */
import { writeFileSync } from 'node:fs';
import { lstat, mkdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { type ConversionAnswer, ConversionOrder, POD_ENV, POD_PATHS } from '@coxswain/api-types';
import { areNested, DirectoryStore } from '@coxswain/checkpoint-store';
import { safeText } from '@coxswain/safe-text';
import { formatBytes } from '@coxswain/units';
import { convertToUniversal } from './convert-to-universal.ts';
import { countedStore, type Transfer } from './counted-store.ts';
import { reshardCheckpoint } from './reshard-checkpoint.ts';
import { TargetUnusable } from './universal-target.ts';

const MAX_MESSAGE_CHARACTERS = 512;
/** Between two lines of progress. */
const PROGRESS_MS = 10_000;
const STOPPED = 128 + constants.signals.SIGTERM;

/** A save, and where what it is converted to belongs. */
interface ConvertedPlaces {
  readonly source: string;
  readonly target: string;
}

/** Folders of a bucket. */
export interface FoldersInBucket extends ConvertedPlaces {
  /** Of the manifest of the source. */
  readonly manifestSha256: string;
}

/** What a conversion in a bucket needs of the one between directories. */
export interface WorkInBucket extends Pick<ConversionTools, 'signal' | 'logLine'> {
  /** Converts from one directory to another one. Returns the SHA-256 of the manifest of what it made. */
  readonly convert: (directories: ConvertedPlaces) => Promise<string | undefined>;
}

/** Returns the SHA-256 of the manifest of what it made. */
export type ConvertInBucket = (folders: FoldersInBucket, work: WorkInBucket) => Promise<string>;

/** Where the progress goes, what the time is, and when to end. */
export interface ConversionTools {
  readonly nowMs: () => number;
  readonly logLine: (sentence: string) => void;
  readonly signal: AbortSignal;
  /** Of the process, for the converters of engines. */
  readonly environment: NodeJS.ProcessEnv;
  /** Program that converts for DeepSpeed, and its first arguments; default: DeepSpeed's own. */
  readonly universalConverter?: readonly string[];
  /** Converts in the bucket that the environment names. Absent: it names none. */
  readonly inBucket?: ConvertInBucket;
}

/**
 * Follows the order and returns the exit code. An answer that says why nothing was converted is one too. A pod that has to end before gives none: its node
 * is drained or its time is over, which says nothing of the save, and the operator starts another one.
 */
export async function runConversion(
  environment: NodeJS.ProcessEnv,
  { inBucket }: Pick<ConversionTools, 'inBucket'> = {},
): Promise<number> {
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort(new Error('The pod was asked to end.')));
  const answer = await convertCheckpoint(environment[POD_ENV.conversion] ?? '', {
    nowMs: () => performance.now(),
    logLine: (sentence) => process.stderr.write(`[launcher] ${sentence}\n`),
    signal: stop.signal,
    environment,
    ...(inBucket === undefined ? {} : { inBucket }),
  });
  if (answer.state === 'Failed' && stop.signal.aborted) return STOPPED;
  writeFileSync(environment['COXSWAIN_TERMINATION_LOG'] ?? POD_PATHS.terminationMessage, JSON.stringify(answer));
  return 0;
}

/** Converts as the order says. What fails is an answer too. */
export async function convertCheckpoint(text: string, tools: ConversionTools): Promise<ConversionAnswer> {
  const startMs = tools.nowMs();
  const transfer = { readBytes: 0, writtenBytes: 0 };
  const measured = (): Omit<ConversionAnswer, 'state'> => ({
    ...transfer,
    seconds: Math.round(tools.nowMs() - startMs) / 1000,
  });
  try {
    const order = parseOrder(text);
    const manifestSha256 =
      order.isInBucket === true ? await inBucket(order, tools, transfer) : await inDirectories(order, tools, transfer);
    return { state: 'Converted', ...(manifestSha256 === undefined ? {} : { manifestSha256 }), ...measured() };
  } catch (error) {
    const message = safeText(error instanceof Error ? error.message : String(error), MAX_MESSAGE_CHARACTERS);
    const isOfTarget = error instanceof TargetUnusable ? { isTargetUnusable: true } : {};
    return { state: 'Failed', message, ...isOfTarget, ...measured() };
  }
}

/** Returns the SHA-256 of the manifest, if the new save has one. */
type Convert = (order: ConversionOrder, tools: ConversionTools, transfer: Transfer) => Promise<string | undefined>;

const CONVERSIONS: Readonly<Record<ConversionOrder['kind'], Convert>> = {
  Reshard: async (order, tools, transfer) => {
    const onBytes = progressOf(tools, transfer);
    return await reshardCheckpoint(order, {
      source: countedStore(new DirectoryStore(order.source), transfer, onBytes),
      target: countedStore(new DirectoryStore(order.target), transfer, onBytes),
      signal: tools.signal,
    });
  },
  DeepSpeedUniversal: async ({ source, target }, tools, transfer) => {
    const { environment, signal, logLine, universalConverter } = tools;
    return await convertToUniversal({
      source: countedStore(new DirectoryStore(source), transfer, progressOf(tools, transfer)),
      ...{ target, environment, signal, transfer, logLine },
      ...(universalConverter === undefined ? {} : { converter: universalConverter }),
    });
  },
};

const inDirectories: Convert = async (order, tools, transfer) => {
  await requirePlaces(order);
  return await CONVERSIONS[order.kind](order, tools, transfer);
};

const inBucket: Convert = async (order, tools, transfer) => {
  const { source, target, manifestSha256 = '' } = order;
  if (tools.inBucket === undefined) throw new TargetUnusable('This program converts nothing in buckets.');
  const convert = (places: ConvertedPlaces): Promise<string | undefined> =>
    inDirectories({ ...order, ...places }, tools, transfer);
  return await tools.inBucket({ source, target, manifestSha256 }, { ...tools, convert });
};

function parseOrder(text: string): ConversionOrder {
  try {
    return ConversionOrder.parse(JSON.parse(text));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${POD_ENV.conversion} holds no order: ${why}`, { cause: error });
  }
}

/** Links lead to where the order does not: each place is a directory of its own. The target is made if it does not exist. */
async function requirePlaces({ source, target }: ConversionOrder): Promise<void> {
  const [from, to] = [await kindOf(source), await kindOf(target)];
  if (from !== 'directory') throw new Error(`The source ${source} is ${from}. Name the directory of a save.`);
  if (to !== 'directory' && to !== 'absent')
    throw new TargetUnusable(`The target ${target} is ${to}. Name an empty directory, or one that does not exist.`);
  if (await areNested(source, target))
    throw new Error(`${target} and ${source} are one in the other. Name a target outside of the source.`);
  await mkdir(target, { recursive: true });
}

async function kindOf(path: string): Promise<'directory' | 'absent' | 'a symbolic link' | 'no directory'> {
  try {
    const stats = await lstat(path.replace(/(?<=.)\/+$/, ''));
    if (stats.isSymbolicLink()) return 'a symbolic link';
    return stats.isDirectory() ? 'directory' : 'no directory';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
}

/** Called after each part: prints a line if the last one is long enough ago. */
function progressOf({ nowMs, logLine }: ConversionTools, transfer: Readonly<Transfer>): () => void {
  let lastMs = nowMs();
  return () => {
    if (nowMs() - lastMs < PROGRESS_MS) return;
    lastMs = nowMs();
    logLine(`${formatBytes(transfer.readBytes)} read, ${formatBytes(transfer.writtenBytes)} written.`);
  };
}
