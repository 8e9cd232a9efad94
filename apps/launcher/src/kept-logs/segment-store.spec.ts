import { mkdtemp, readFile, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CheckpointStore, DirectoryStore } from '@coxswain/checkpoint-store';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { segmentPath } from './log-segments.ts';
import { removeOldAttempts } from './remove-old-attempts.ts';
import { BucketSegments, DirectorySegments } from './segment-store.ts';

let directory: string;
let store: CheckpointStore;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'segments-'));
  store = new DirectoryStore(directory);
});
afterEach(() => rm(directory, { recursive: true }));

describe('a segment in a directory', () => {
  it('that another program removed begins anew', async () => {
    const segments = new DirectorySegments(store);
    await segments.append('a/1.log', Buffer.from('gone'));
    await rm(join(directory, 'a'), { recursive: true });
    await segments.append('a/1.log', Buffer.from('new'));
    await segments.seal('a/1.log');
    expect(await readFile(join(directory, 'a/1.log'), 'utf8')).toBe('new');
  });

  it('that gets no output is touched, so that other jobs do not remove it', async () => {
    let nowMs = 1_000_000;
    const segments = new DirectorySegments(store, undefined, () => nowMs);
    await segments.append('1.log', Buffer.from('x'));
    nowMs += 1_800_000;
    await segments.save();
    expect(await store.list()).toEqual([{ path: '1.log', bytes: 1, writtenMs: nowMs }]);
    await segments.seal('1.log');
  });
});

describe('a segment in a bucket', () => {
  it('that gets no output is uploaded again', async () => {
    let nowMs = 1_000_000;
    const bucket = new MemoryStore({});
    const segments = new BucketSegments(bucket, () => nowMs);
    await segments.append('1.log', Buffer.from('x'));
    await segments.save();
    bucket.files.clear();
    await segments.save();
    expect([...bucket.files.keys()]).toEqual([]);
    nowMs += 1_800_000;
    await segments.save();
    expect([...bucket.files.keys()]).toEqual(['1.log']);
  });
});

describe('attempts that are removed', () => {
  it('are those that no job writes, whenever they began; files that are no segments stay', async () => {
    const nowMs = 1_800_000_000_000;
    const write = async (job: string, startMs: number, writtenMs: number): Promise<void> => {
      const segment = { epoch: 1, firstRank: 0, lastRank: 0, incarnation: 1, number: 1, startMs };
      const path = `logs/team/${job}/${segmentPath(segment)}`;
      await store.write(path, [Buffer.alloc(9_000)]);
      await utimes(join(directory, path), writtenMs / 1_000, writtenMs / 1_000);
    };
    await write('running-1', nowMs - 90_000_000, nowMs - 1_000_000);
    await write('ended-2', nowMs - 50_000_000, nowMs - 40_000_000);
    await write('ended-3', nowMs - 90_000_000, nowMs - 30_000_000);
    await store.write('logs/team/ended-2/attempt-1/notes.txt', [Buffer.from('mine')]);
    await store.write('logs/team/ended-2/mine/notes.txt', [Buffer.from('mine')]);
    const list = store.list.bind(store);
    store.list = async (folder = '') => {
      // The list of all files of a namespace can be too long.
      expect(folder).toMatch(/attempt-1$/);
      return await list(folder);
    };
    const bounds = { rankBytes: 1_000, jobBytes: 10_000, projectBytes: 20_000 };
    const own = { folder: 'logs/team', job: 'new-4', epoch: 1, worldSize: 1, bounds };
    await removeOldAttempts(own, new DirectorySegments(store), nowMs);
    expect((await list('logs')).map(({ path }) => path.split('/').slice(2).join('/')).toSorted()).toEqual([
      'ended-2/attempt-1/notes.txt',
      'ended-2/mine/notes.txt',
      expect.stringMatching(/^ended-3/),
      expect.stringMatching(/^running-1/),
    ]);
  });
});
