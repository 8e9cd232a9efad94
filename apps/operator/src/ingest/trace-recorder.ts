/** Writes reports of ranks to files for `coxswain health replay`, one file for each run of ranks. */
import { createWriteStream, mkdirSync, readdirSync, rmSync, statSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import type { TraceHeader, TraceRecord } from '@coxswain/health';
import type { RunOfRanks } from './health-reports.ts';

/** Size limit of one recording, and number of recordings kept. 256 MiB are a day of 64 ranks, or two minutes of 16,384. */
const MOST_BYTES = 268_435_456;
const MOST_FILES = 8;
/** Unwritten bytes above which the recording ends: reports never wait for a disk. */
const MOST_WAITING_BYTES = 8_388_608;
/** The same of all recordings together: they are outside of any heap that is bounded. */
const MOST_WAITING_IN_ALL = 2 * MOST_WAITING_BYTES;
const FEW_WAITING_BYTES = 262_144;

const NAME = /^[A-Za-z0-9-]{1,64}-e\d+-i\d+\.jsonl$/;

interface Recording {
  readonly jobUid: string;
  readonly name: string;
  readonly namespace: string;
  readonly stream: WriteStream;
  bytes: number;
  isOver: boolean;
}

/** The parent must exist: with `recursive`, Node loops forever if a file system responds ENOENT for a folder that it does not allow. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Where to record, and how much. */
export interface TraceRecorderOptions {
  readonly directory: string;
  /** Writes a warning for administrators. */
  readonly warn: (message: string) => void;
  readonly mostBytes?: number;
  readonly mostFiles?: number;
}

/**
 * Records the reports of each run until the run ends, the file is full, or the disk fails. If as many runs are recorded as files are kept, the namespace with
 * the most recordings loses its oldest, if it has more than that of the new run would; otherwise the new run is not recorded.
 */
export class TraceRecorder {
  readonly #options: TraceRecorderOptions;
  readonly #open = new Map<string, Recording>();
  readonly #closing = new Set<WriteStream>();

  constructor(options: TraceRecorderOptions) {
    this.#options = options;
  }

  /** Starts a recording and ends that of the job's previous run. If the folder cannot be written, only the recording is lost. */
  begin(run: RunOfRanks, header: TraceHeader, namespace = ''): void {
    this.end(run.jobUid);
    const { directory, warn } = this.#options;
    const name = `${run.jobUid}-e${run.epoch}-i${run.incarnation}.jsonl`;
    if (!NAME.test(name) || !this.#makePlaceFor(namespace)) return;
    try {
      makeDirectory(directory);
      this.#makeRoom();
    } catch (error) {
      return warn(`health traces cannot be written to ${directory}: ${(error as Error).message}`);
    }
    const stream = createWriteStream(join(directory, name), { flags: 'w', mode: 0o600 });
    const recording = { jobUid: run.jobUid, name, namespace, stream, bytes: 0, isOver: false };
    stream.on('error', (error) => this.#finish(recording, `the health trace ${name} ended early: ${error.message}`));
    this.#open.set(run.jobUid, recording);
    this.add(run.jobUid, header);
  }

  add(jobUid: string, record: TraceHeader | TraceRecord): void {
    const recording = this.#open.get(jobUid);
    if (recording === undefined || recording.isOver) return;
    const line = `${JSON.stringify(record)}\n`;
    recording.bytes += Buffer.byteLength(line);
    if (recording.bytes > (this.#options.mostBytes ?? MOST_BYTES)) {
      return this.#finish(recording, `the health trace of job ${jobUid} has reached its size limit and ends`);
    }
    recording.stream.write(line);
    if (this.#isBehind(recording)) {
      this.#finish(recording, `the health trace of job ${jobUid} ends, because the disk is too slow`);
    }
  }

  /** Ends the recording of a job that was deleted or restarted. */
  end(jobUid: string): void {
    const recording = this.#open.get(jobUid);
    this.#open.delete(jobUid);
    if (recording !== undefined) this.#finish(recording);
  }

  /** Resolves when all records are written. */
  async close(): Promise<void> {
    for (const jobUid of [...this.#open.keys()]) this.end(jobUid);
    await Promise.all(
      [...this.#closing].map((stream) =>
        stream.closed ? undefined : new Promise<void>((done) => void stream.once('close', () => done())),
      ),
    );
  }

  #finish(recording: Recording, why?: string): void {
    if (recording.isOver) return;
    recording.isOver = true;
    const { stream, jobUid } = recording;
    if (this.#open.get(jobUid) === recording) this.#open.delete(jobUid);
    this.#closing.add(stream);
    stream.once('close', () => this.#closing.delete(stream));
    stream.end();
    if (why !== undefined) this.#options.warn(why);
  }

  #isBehind({ stream: { writableLength } }: Recording): boolean {
    if (writableLength <= FEW_WAITING_BYTES) return false;
    const inAll = [...this.#open.values()].reduce((sum, { stream }) => sum + stream.writableLength, 0);
    return writableLength > MOST_WAITING_BYTES || inAll > MOST_WAITING_IN_ALL;
  }

  #makePlaceFor(namespace: string): boolean {
    if (this.#open.size < (this.#options.mostFiles ?? MOST_FILES)) return true;
    const byNamespace = Map.groupBy(this.#open, ([, recording]) => recording.namespace);
    const [largest = []] = [...byNamespace.values()].toSorted((one, other) => other.length - one.length);
    const oldest = largest[0];
    if (oldest === undefined || largest.length <= (byNamespace.get(namespace)?.length ?? 0) + 1) return false;
    this.end(oldest[0]);
    return true;
  }

  /** Removes the oldest files. Those that are being written take their space until they are closed, so they stay. */
  #makeRoom(): void {
    const { directory, mostFiles = MOST_FILES } = this.#options;
    const open = new Set([...this.#open.values()].map(({ name }) => name));
    const files = readdirSync(directory)
      .filter((name) => NAME.test(name) && !open.has(name))
      .map((name) => ({ name, atMs: statSync(join(directory, name)).mtimeMs }))
      .sort((a, b) => b.atMs - a.atMs);
    for (const { name } of files.slice(Math.max(0, mostFiles - 1 - open.size)))
      rmSync(join(directory, name), { force: true });
  }
}
