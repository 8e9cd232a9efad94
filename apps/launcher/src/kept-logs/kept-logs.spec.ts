import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { KeptLogBounds, type KeptLogsQuestion } from '@coxswain/api-types';
import { type CheckpointStore, DirectoryStore } from '@coxswain/checkpoint-store';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import fc from 'fast-check';
import { keepLogs, type LogsToKeep } from './keep-logs.ts';
import { FrameQueue } from './frame-queue.ts';
import { type FrameKind, frameHead, FrameReader, type LogFrame } from './log-frames.ts';
import { LogKeeper } from './log-keeper.ts';
import { LogWriters } from './log-writers.ts';
import { readKeptLogs } from './read-kept-logs.ts';
import { DirectorySegments, type SegmentStore } from './segment-store.ts';

const MIB = 1_048_576;
const FOLDER = 'runs/coxswain-logs/team';
const LOGS: LogsToKeep = {
  folder: FOLDER,
  job: 'gpt-0a1b2c3d',
  epoch: 3,
  incarnation: 1,
  worldSize: 2,
  writers: [
    { firstRank: 0, lastRank: 0 },
    { firstRank: 1, lastRank: 1 },
  ],
  bounds: KeptLogBounds.parse({}),
};
const ASKED: KeptLogsQuestion = { folder: `${FOLDER}/gpt-0a1b2c3d`, attempt: 3, maxBytes: 64 * MIB };

let directory: string;
let store: CheckpointStore;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kept-logs-'));
  store = new DirectoryStore(directory);
});
afterEach(() => rm(directory, { recursive: true }));

type Written = readonly [writer: number, kind: FrameKind, bytes: Buffer | string];

/** Keeps what the ranks wrote, and returns the sentences about it. */
async function keep(written: readonly Written[], logs: Partial<LogsToKeep> = {}, into = store): Promise<string> {
  const input = new PassThrough();
  let sentences = '';
  const keeping = keepLogs({ ...LOGS, ...logs }, into, { input, write: (text) => (sentences += text) });
  for (const [writer, kind, content] of written) {
    const bytes = Buffer.from(content);
    input.write(frameHead({ writer, kind, bytes }));
    input.write(bytes);
  }
  input.end();
  await keeping;
  return sentences;
}

async function read(asked: Partial<KeptLogsQuestion> = {}, from = store): Promise<{ head: unknown; log: Buffer }> {
  const parts: Buffer[] = [];
  await readKeptLogs({ ...ASKED, ...asked }, from, async (bytes) => void parts.push(Buffer.from(bytes)));
  const all = Buffer.concat(parts);
  const end = all.indexOf('\n');
  return { head: JSON.parse(all.toString('utf8', 0, end)), log: all.subarray(end + 1) };
}

const textOf = async (asked: Partial<KeptLogsQuestion>, from = store): Promise<string> =>
  (await read(asked, from)).log.toString();

describe('a kept log', () => {
  it('has the lines of each rank as they were written', async () => {
    await keep([
      [0, 'stdout', 'step 1\nste'],
      [1, 'stderr', 'Traceback\n'],
      [0, 'stderr', 'warning\n'],
      [0, 'stdout', 'p 2\nno newline'],
      [0, 'launcher', 'rank 0 exited with code 7'],
    ]);
    expect(await textOf({ rank: 1 })).toBe('[rank 1] Traceback\n');
    const lines = (await textOf({ rank: 0 })).trimEnd().split('\n');
    expect(lines.toSorted()).toEqual(
      [
        '[rank 0] step 1',
        '[rank 0] step 2',
        '[rank 0] warning',
        '[rank 0] no newline',
        '[launcher] rank 0 exited with code 7',
      ].toSorted(),
    );
    expect((await textOf({})).match(/^\[rank \d\]/gm)).toHaveLength(5);
    expect(await textOf({ grep: 'Trace' })).toBe('[rank 1] Traceback\n');
    expect(await textOf({ rank: 1, tailLines: 0 })).toBe('');
    expect(await textOf({ sinceMs: Date.now() + 60_000 })).toBe('');
  });

  it('has a line of 10 MB whole', async () => {
    const line = Buffer.alloc(10_000_000, 'x');
    const chunks = Array.from({ length: 153 }, (_, at) => line.subarray(at * 65_536, (at + 1) * 65_536));
    await keep([...chunks.map((chunk): Written => [0, 'stdout', chunk]), [0, 'stdout', '\nnext\n']]);
    const { log } = await read({ rank: 0 });
    expect(log.length).toBe('[rank 0] \n[rank 0] next\n'.length + line.length);
    expect(log.subarray(9, 9 + line.length).equals(line)).toBe(true);
  });

  it('has any bytes as they were written, however they came', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 4 }), async (chunks) => {
        const memory = Object.assign(new MemoryStore({}), { isRemote: true as const });
        await keep(
          chunks.map((chunk): Written => [1, 'stdout', Buffer.from(chunk)]),
          {},
          memory,
        );
        const all = Buffer.concat(chunks);
        const lines = all.toString('latin1').replace(/\n$/, '').split('\n');
        const expected = all.length === 0 ? '' : lines.map((line) => `[rank 1] ${line}\n`).join('');
        expect((await read({ rank: 1 }, memory)).log.toString('latin1')).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  it('of an attempt that is not kept names those that are', async () => {
    await keep([[0, 'stdout', 'x\n']]);
    expect((await read({ attempt: 2 })).head).toEqual({ keptLogs: 1, segments: 0, attempts: [3] });
  });

  it('of one program that starts all ranks is that of each', async () => {
    await keep([[0, 'stdout', 'x\n']], { writers: [{ firstRank: 0, lastRank: 7 }], worldSize: 8 });
    expect(await textOf({ rank: 5 })).toBe('[ranks 0-7] x\n');
  });

  it('does not include a file to which a link leads', async () => {
    await keep([[0, 'stdout', 'x\n']]);
    const own = join(directory, ASKED.folder, 'attempt-3');
    await keep([[0, 'stdout', 'of another job\n']], { job: 'other-99999999', epoch: 1 });
    const other = join(directory, FOLDER, 'other-99999999/attempt-1/rank-0');
    const [name = ''] = await readdir(other);
    await symlink(join(other, name), join(own, 'rank-0', name.replace('0001-', '0002-')));
    await symlink(other, join(own, 'rank-1'));
    expect(await textOf({})).toBe('[rank 0] x\n');
  });
});

describe('bounds', () => {
  const bounds = KeptLogBounds.parse({ rankBytes: MIB, jobBytes: 3 * MIB });

  it('hold for each rank, with its newest lines', async () => {
    const chunk = (at: number): Buffer => Buffer.from(`${String(at).padStart(15, '0')}\n`.repeat(2048));
    await keep(
      Array.from({ length: 60 }, (_, at): Written => [0, 'stdout', chunk(at)]),
      { bounds, worldSize: 1 },
    );
    const files = await store.list(FOLDER);
    expect(files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(MIB);
    expect((await textOf({ rank: 0 })).trimEnd().split('\n').at(-1)).toBe(`[rank 0] ${'59'.padStart(15, '0')}`);
  });

  it('hold for a job through its attempts: the oldest go', async () => {
    const line = `${'x'.repeat(99)}\n`;
    const written: Written[] = Array.from({ length: 20 }, () => [0, 'stdout', Buffer.alloc(65_536, line)]);
    for (const epoch of [1, 2, 3, 4, 5]) await keep(written, { epoch, bounds, worldSize: 1 });
    const files = await store.list(FOLDER);
    expect(files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(3 * MIB);
    expect((await read({ attempt: 1 })).head).toMatchObject({ segments: 0 });
    expect((await read({ attempt: 5 })).head).not.toMatchObject({ segments: 0 });
  });

  it('that leave too little for each rank are reported', async () => {
    const sentences = await keep([[0, 'stdout', 'x\n']], { worldSize: 8192, bounds: { ...bounds, jobBytes: MIB } });
    expect(sentences).toMatch(/^No logs are kept: with 8192 ranks, a bound of 1048576 bytes/);
    expect(await store.list(FOLDER)).toEqual([]);
  });
});

/** A directory whose appends go through `append`. */
function storeWith(append: (path: string, bytes: Buffer, real: DirectorySegments) => Promise<void>): SegmentStore {
  const real = new DirectorySegments(store);
  return {
    isRemote: false,
    append: (path, bytes) => append(path, bytes, real),
    save: () => real.save(),
    seal: (path) => real.seal(path),
    folders: (folder) => real.folders(folder),
    list: (folder) => real.list(folder),
    remove: (paths) => real.remove(paths),
  };
}

describe('storage', () => {
  const place = { folder: ASKED.folder, writer: { epoch: 3, firstRank: 0, lastRank: 0 }, incarnation: 1 };
  const places = [{ ...place, bounds: { bytes: 64 * MIB, segmentBytes: 4 * MIB } }];
  const chunk = Buffer.from(`${'y'.repeat(63)}\n`.repeat(1024));

  it('that stalls holds a bounded part of the newest output, and the log counts what it lacks', async () => {
    const stalled = Promise.withResolvers<void>();
    const slow = storeWith((path, bytes, real) => stalled.promise.then(() => real.append(path, bytes)));
    const writers = new LogWriters({ store: slow, places, onFailure: () => undefined });
    writers.push({ writer: 0, kind: 'stdout', bytes: Buffer.from('first\n') });
    const writing = writers.write();
    for (let at = 0; at < 640; at += 1) writers.push({ writer: 0, kind: 'stdout', bytes: chunk });
    writers.push({ writer: 0, kind: 'stdout', bytes: Buffer.from('last\n') });
    expect(writers.pendingBytes).toBeLessThanOrEqual(16 * MIB);
    stalled.resolve();
    await writing;
    await writers.end();
    const text = await textOf({ rank: 0 });
    expect(text.slice(0, 200)).toMatch(/^\[rank 0\] first\n\[launcher\] \d+ bytes of this log are missing here/);
    expect(text.slice(-200)).toMatch(/\[rank 0\] last\n$/);
  });

  it('that is full is reported once, and asked again later', async () => {
    let nowMs = 1_000_000;
    const failures: string[] = [];
    let isFull = true;
    const full = storeWith(async (path, bytes, real) => {
      if (isFull) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
      await real.append(path, bytes);
    });
    const writers = new LogWriters({ store: full, places, onFailure: (why) => failures.push(why), nowMs: () => nowMs });
    for (const afterMs of [0, 1_000, 30_000]) {
      nowMs += afterMs;
      writers.push({ writer: 0, kind: 'stdout', bytes: chunk });
      await writers.write();
    }
    expect(failures).toEqual(['ENOSPC: no space left']);
    isFull = false;
    nowMs += 30_000;
    writers.push({ writer: 0, kind: 'stdout', bytes: Buffer.from('again\n') });
    await writers.write();
    await writers.end();
    expect(await textOf({ rank: 0 })).toMatch(
      /^\[launcher\] \d+ bytes of this log are missing here[^]*\[rank 0\] again\n$/,
    );
  });

  it.each([
    [9, 100 * MIB, /has 9.0 MiB free, and logs leave 10.0 MiB to checkpoints/],
    [10, 100 * MIB, undefined],
    [16 * 1024, 1e15, undefined],
    [15 * 1024, 1e15, /logs leave 16.0 GiB to checkpoints/],
  ])('of which %i MiB of %i bytes are free leaves enough to checkpoints', async (freeMib, bytes, why) => {
    const failures: string[] = [];
    const segments = new DirectorySegments(store, () =>
      Promise.resolve({ bavail: freeMib, blocks: bytes / MIB, bsize: MIB }),
    );
    const writers = new LogWriters({ store: segments, places, onFailure: (sentence) => failures.push(sentence) });
    writers.push({ writer: 0, kind: 'stdout', bytes: Buffer.from('x\n') });
    await writers.end();
    expect(failures).toEqual(why === undefined ? [] : [expect.stringMatching(why)]);
    expect(await store.list(FOLDER)).toHaveLength(why === undefined ? 1 : 0);
  });

  it('gets a bounded number of bytes a second', async () => {
    let nowMs = 1_000_000;
    const many = Array.from({ length: 64 }, (_, rank) => ({
      ...place,
      bounds: { bytes: 16 * MIB, segmentBytes: 4 * MIB },
      writer: { epoch: 3, firstRank: rank, lastRank: rank },
    }));
    const writers = new LogWriters({
      store: new DirectorySegments(store),
      places: many,
      onFailure: () => undefined,
      nowMs: () => nowMs,
    });
    // 64 ranks write 100 MB in a second.
    for (let tick = 0; tick < 2; tick += 1) {
      for (let writer = 0; writer < 64; writer += 1)
        for (let at = 0; at < 12; at += 1) writers.push({ writer, kind: 'stdout', bytes: chunk });
      expect(writers.pendingBytes).toBeLessThanOrEqual(16 * MIB);
      await writers.write();
      nowMs += 500;
    }
    const kept = (await store.list(FOLDER)).reduce((sum, { bytes }) => sum + bytes, 0);
    expect(kept).toBeLessThanOrEqual(26 * MIB);
    await writers.end();
  });
});

describe('frames', () => {
  it('are the same however the pipe splits them', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), fc.integer({ min: 1, max: 40 }), (contents, size) => {
        const frames = contents.map(
          (bytes, writer) => ({ writer, kind: 'stderr', bytes: Buffer.from(bytes) }) as const,
        );
        const pipe = Buffer.concat(frames.flatMap((frame) => [frameHead(frame), frame.bytes]));
        const reader = new FrameReader();
        const got = [];
        for (let at = 0; at < pipe.length; at += size)
          got.push(
            ...reader.push(pipe.subarray(at, at + size)).map((one) => ({ ...one, bytes: Buffer.from(one.bytes) })),
          );
        expect(got).toEqual(frames);
      }),
    );
  });
});

const allOf = (queue: FrameQueue): readonly LogFrame[] => {
  const got: LogFrame[] = [];
  while (!queue.isEmpty) got.push(...queue.shift());
  return got;
};

describe('output that waits for the process that keeps it', () => {
  it('is bounded; what is dropped is the oldest of the writer that has most, and is counted', () => {
    const piece = fc.record({
      writer: fc.integer({ min: 0, max: 2 }),
      kind: fc.constantFrom('stdout' as const, 'stderr' as const),
      size: fc.integer({ min: 1, max: 2_000 }),
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 80 }), (pieces) => {
        const queue = new FrameQueue(3, 20_000);
        const pushed = pieces.map(({ size, ...rest }, at) => ({ ...rest, bytes: Buffer.alloc(size, at) }));
        for (const frame of pushed) queue.push(frame);
        const got = allOf(queue);
        const marked = (frames: readonly LogFrame[], writer: number): string =>
          frames
            .filter((frame) => frame.writer === writer && frame.kind !== 'dropped')
            .map(
              ({ kind, bytes }) =>
                (kind === 'stdout' ? 'o' : 'e') +
                bytes
                  .toString('latin1')
                  .split('')
                  .join(kind === 'stdout' ? 'o' : 'e'),
            )
            .join('');
        for (const writer of [0, 1, 2]) {
          const all = marked(pushed, writer);
          const kept = marked(got, writer);
          // The newest are there, in order.
          expect(all.endsWith(kept)).toBe(true);
          const dropped = got.filter((frame) => frame.writer === writer && frame.kind === 'dropped');
          const lost = (all.length - kept.length) / 2;
          if (kept !== '') expect(dropped.map(({ bytes }) => Number(bytes))).toEqual(lost === 0 ? [] : [lost]);
        }
        expect(
          got.reduce((sum, { kind, bytes }) => sum + (kind === 'dropped' ? 0 : bytes.length), 0),
        ).toBeLessThanOrEqual(20_000);
      }),
      { numRuns: 50 },
    );
  });

  it('of a program that flushes each line takes no more memory: lines are put together', () => {
    const queue = new FrameQueue(1, MIB);
    const line = Buffer.from(`${'z'.repeat(19)}\n`);
    for (let at = 0; at < 100_000; at += 1) queue.push({ writer: 0, kind: 'stdout', bytes: line });
    const kept = allOf(queue).filter(({ kind }) => kind === 'stdout');
    // The memory behind each frame is its own, and at most as large as a block.
    const memory = kept.reduce((sum, { bytes }) => sum + bytes.buffer.byteLength, 0);
    expect(memory).toBeLessThanOrEqual(MIB);
    expect(kept.length).toBeLessThanOrEqual(33);
    expect(kept.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeGreaterThan(0.9 * MIB);
  });

  it('has each sentence of the launcher in a frame of its own', () => {
    const queue = new FrameQueue(1, MIB);
    for (const sentence of ['one', 'two']) queue.push({ writer: 0, kind: 'launcher', bytes: Buffer.from(sentence) });
    expect(allOf(queue).map(({ bytes }) => bytes.toString())).toEqual(['one', 'two']);
  });

  it('of a quiet rank is not dropped because of a noisy one', () => {
    const queue = new FrameQueue(2, 10_000);
    queue.push({ writer: 1, kind: 'stdout', bytes: Buffer.from('quiet') });
    for (let at = 0; at < 1_000; at += 1) queue.push({ writer: 0, kind: 'stdout', bytes: Buffer.alloc(100) });
    expect(
      allOf(queue)
        .filter(({ writer }) => writer === 1)
        .map(({ bytes }) => bytes.toString()),
    ).toEqual(['quiet']);
  });
});

describe('a process that keeps logs', () => {
  const keeperOf = (
    program: readonly [string, ...string[]],
    logLine: (sentence: string) => void = () => undefined,
  ): LogKeeper => new LogKeeper({ logs: LOGS, logLine, keeper: program, env: process.env });

  it('that does not read holds up neither ranks nor the end', async () => {
    const keeper = keeperOf(['sleep', '60']);
    const chunk = Buffer.alloc(65_536, 'x\n');
    const startMs = performance.now();
    for (let at = 0; at < 2_000; at += 1) keeper.write([0], 'stdout', chunk);
    await keeper.end(50);
    expect(performance.now() - startMs).toBeLessThan(2_000);
  });

  it('that ends is reported', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const keeper = keeperOf(['false'], resolve);
    expect(await promise).toBe('Logs are no longer kept: the process that keeps them ended (code 1).');
    keeper.write([0], 'stdout', Buffer.from('x'));
    await keeper.end(50);
  });
});
