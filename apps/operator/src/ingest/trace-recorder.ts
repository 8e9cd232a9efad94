/** Writes what ranks told into files that `coxswain health replay` reads, each run of ranks into one of its own. */
import { createWriteStream, mkdirSync, readdirSync, rmSync, statSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import type { TraceHeader, TraceRecord } from '@coxswain/health';
import type { RunOfRanks } from './health-watch.ts';

/** What recordings may take: a run is recorded up to so much, and of runs the newest are kept. 256 MiB are a day of 64 ranks, or two minutes of 16,384. */
const MOST_BYTES = 268_435_456;
const MOST_FILES = 8;
/** Text that the disk has not taken yet. Beyond it the recording ends: reports never wait for a disk. */
const MOST_WAITING_BYTES = 8_388_608;

const NAME = /^[A-Za-z0-9-]{1,64}-e\d+-i\d+\.jsonl$/;

interface Recording {
  readonly stream: WriteStream;
  bytes: number;
  isOver: boolean;
}

/** Its parent has to be there: with `recursive` Node asks for ever where a file system answers ENOENT for a folder that it does not let anybody make. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

export interface TraceRecorderOptions {
  readonly directory: string;
  readonly say: (sentence: string) => void;
  readonly mostBytes?: number;
  readonly mostFiles?: number;
}

export class TraceRecorder {
  readonly #options: TraceRecorderOptions;
  readonly #open = new Map<string, Recording>();

  constructor(options: TraceRecorderOptions) {
    this.#options = options;
  }

  /** A run begins: a recording of the job's run before ends. A directory that cannot be written to costs the recording, and nothing else. */
  begin(run: RunOfRanks, header: TraceHeader): void {
    this.end(run.jobUid);
    const { directory, say } = this.#options;
    const name = `${run.jobUid}-e${run.epoch}-i${run.incarnation}.jsonl`;
    if (!NAME.test(name)) return;
    try {
      makeDirectory(directory);
      this.#makeRoom();
    } catch (error) {
      return say(`nothing is recorded in ${directory}: ${(error as Error).message}`);
    }
    const stream = createWriteStream(join(directory, name), { flags: 'w', mode: 0o600 });
    const recording = { stream, bytes: 0, isOver: false };
    stream.on('error', (error) => this.#finish(recording, `${name} ends: ${error.message}`));
    this.#open.set(run.jobUid, recording);
    this.add(run.jobUid, header);
  }

  add(jobUid: string, record: TraceHeader | TraceRecord): void {
    const recording = this.#open.get(jobUid);
    if (recording === undefined || recording.isOver) return;
    const line = `${JSON.stringify(record)}\n`;
    recording.bytes += Buffer.byteLength(line);
    if (recording.bytes > (this.#options.mostBytes ?? MOST_BYTES)) {
      return this.#finish(recording, `a recording of job ${jobUid} is full`);
    }
    recording.stream.write(line);
    if (recording.stream.writableLength > MOST_WAITING_BYTES) {
      this.#finish(recording, `the disk is too slow to record job ${jobUid}`);
    }
  }

  /** The job is gone, or begins anew. */
  end(jobUid: string): void {
    const recording = this.#open.get(jobUid);
    this.#open.delete(jobUid);
    if (recording !== undefined) this.#finish(recording);
  }

  /** Resolves when what was told is in the files. */
  async close(): Promise<void> {
    const streams = [...this.#open.values()].map(({ stream }) => stream);
    for (const jobUid of [...this.#open.keys()]) this.end(jobUid);
    await Promise.all(
      streams.map((stream) =>
        stream.closed ? undefined : new Promise<void>((done) => void stream.once('close', () => done())),
      ),
    );
  }

  #finish(recording: Recording, why?: string): void {
    if (recording.isOver) return;
    recording.isOver = true;
    recording.stream.end();
    if (why !== undefined) this.#options.say(why);
  }

  #makeRoom(): void {
    const { directory, mostFiles = MOST_FILES } = this.#options;
    const files = readdirSync(directory)
      .filter((name) => NAME.test(name))
      .map((name) => ({ name, atMs: statSync(join(directory, name)).mtimeMs }))
      .sort((a, b) => b.atMs - a.atMs);
    for (const { name } of files.slice(Math.max(0, mostFiles - 1))) rmSync(join(directory, name), { force: true });
  }
}
