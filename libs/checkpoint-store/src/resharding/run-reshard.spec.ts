import { crc32 } from 'node:zlib';
import {
  type Division,
  divideColumns,
  divideRows,
  type PlannedPiece,
  planReshard,
  readKeyPaths,
  torchSaveFrame,
  verifySave,
  writeDcpMetadata,
} from '@coxswain/checkpoint';
import { fixture } from '@coxswain/checkpoint/testing';
import { runReading } from '../reading/run-reading.ts';
import { Killed, MemoryStore } from '../testing/memory-store.ts';
import { type ReshardOutcome, runReshard } from './run-reshard.ts';

/** And what a look at all bytes of the new save finds: bytes that nothing vouched for stay so. */
const FIXTURES = [
  ['dcp-2.15.0', 'sound'],
  ['dcp-file-per-item-2.15.0', 'sound'],
  ['dcp-no-crc-2.15.0', 'unverifiable'],
  ['dcp-odd-tensors-2.13.0', 'sound'],
] as const;

function stored(name: string): MemoryStore {
  return new MemoryStore(Object.fromEntries(fixture(name).files));
}

async function look(store: MemoryStore, level: 'V1' | 'V3' = 'V1') {
  const files = await store.list();
  return { files, ...(await runReading(store, files, verifySave(files, { level, crc32 }))) };
}

interface Options {
  readonly worker?: { readonly index: number; readonly count: number };
  readonly sourceId?: string;
  readonly bandBytes?: number;
}

async function reshard(
  source: MemoryStore,
  target: MemoryStore,
  divide: Division,
  { worker, sourceId = 'a', bandBytes = 64 }: Options = {},
): Promise<ReshardOutcome> {
  const { files, state } = await look(source);
  if (state === undefined) throw new Error('the source cannot be read');
  const plan = planReshard(state, { divide, pieceBytes: 200, crc32 });
  const paths = readKeyPaths(source.files.get('.metadata') ?? new Uint8Array());
  return runReshard({ source, files, target, plan, paths, sourceId, bandBytes, ...(worker && { worker }) });
}

/** The bytes of each tensor as one chunk, and of each object. */
async function contentOf(store: MemoryStore): Promise<Readonly<Record<string, string>>> {
  const whole = new MemoryStore({});
  await reshard(store, whole, divideRows(1));
  const { state } = await look(whole);
  const bytesOf = ({ file, offset, length }: { file: string; offset: number; length: number }): string =>
    Buffer.from(whole.files.get(file)?.subarray(offset, offset + length) ?? []).toString('base64');
  return Object.fromEntries(
    [
      ...(state?.tensors ?? []).map(({ key, chunks }) => [key, chunks[0]?.item] as const),
      ...(state?.objects ?? []).map(({ key, item }) => [key, item] as const),
    ].map(([key, item]) => [key, item === undefined ? '' : bytesOf(item)]),
  );
}

/** A save with one tensor of so many rows, each of one element. */
function aTensorOf(rows: number): MemoryStore {
  const bytes = new Uint8Array(4 * rows).fill(7);
  const { head, tail } = torchSaveFrame('float32', [rows, 1], crc32);
  const file = Buffer.concat([head, bytes, tail(crc32(bytes))]);
  const item = { file: '__0_0.distcp', offset: 0, length: file.length };
  const chunks = [{ offsets: [0, 0], sizes: [rows, 1], item }];
  const tensors = [{ key: 'w', dtype: 'float32', shape: [rows, 1], chunks }];
  return new MemoryStore({
    '.metadata': writeDcpMetadata({ tensors, objects: [], paths: undefined }),
    [item.file]: file,
  });
}

/** A write that takes nothing, and fails once all memory waits for it. */
const refused = (): Promise<never> =>
  new Promise((_resolve, reject) => setImmediate(() => reject(new Error('ENOSPC'))));

describe('a save that is divided anew', () => {
  it.each(
    FIXTURES.flatMap(([name, want]) => [
      { name, want, how: 'rows over 3 ranks', divide: divideRows(3) },
      { name, want, how: 'columns over 2 ranks', divide: divideColumns(2) },
      { name, want, how: 'one rank', divide: divideRows(1) },
    ]),
  )('$name to $how is $want, holds the same, and comes back the same', async ({ name, want, divide }) => {
    const source = stored(name);
    const target = new MemoryStore({});
    expect(await reshard(source, target, divide)).toMatchObject({ isComplete: true });
    expect((await look(target, 'V3')).verdict).toBe(want);
    expect(await contentOf(target)).toEqual(await contentOf(source));
  });

  it('is written by two workers, one after the other, and complete when both are done', async () => {
    const source = stored('dcp-2.15.0');
    const target = new MemoryStore({});
    const outcomes = [];
    for (const index of [0, 1])
      outcomes.push(await reshard(source, target, divideRows(3), { worker: { index, count: 2 } }));
    expect(outcomes.map(({ isComplete }) => isComplete)).toEqual([false, true]);
    expect((await look(target, 'V3')).verdict).toBe('sound');
  });

  it('that is there already stays as it is', async () => {
    const source = stored('dcp-2.15.0');
    const target = new MemoryStore({});
    await reshard(source, target, divideRows(3));
    const before = new Map(target.files);
    expect(await reshard(source, target, divideRows(3))).toMatchObject({ isComplete: true, pieces: { done: 0 } });
    expect(target.files).toEqual(before);
  });

  it.each<[string, (target: MemoryStore) => Promise<unknown>, RegExp]>([
    [
      'a directory of other files',
      (target) => target.write('notes.txt', [new Uint8Array(1)]),
      /is not empty: it holds notes\.txt, and no part of this save\. Name an empty directory\./,
    ],
    [
      'another save',
      (target) => reshard(stored('dcp-2.15.0'), target, divideRows(2)),
      /already holds another save\. Name an empty directory\./,
    ],
    [
      'a part of another save',
      (target) => target.write('.coxswain-reshard', [Buffer.from('b')]),
      /holds a part of another save that was not completed\. Delete it, or name an empty directory\./,
    ],
  ])('does not go over %s', async (_what, prepare, message) => {
    const target = new MemoryStore({});
    await prepare(target);
    const before = new Map(target.files);
    await expect(reshard(stored('dcp-2.15.0'), target, divideRows(3))).rejects.toThrow(message);
    expect(target.files).toEqual(before);
  });

  it('of another step that is divided alike is another save', async () => {
    const target = new MemoryStore({});
    await reshard(stored('dcp-2.15.0'), target, divideRows(3), { sourceId: 'step-10' });
    await expect(reshard(stored('dcp-2.15.0'), target, divideRows(3), { sourceId: 'step-20' })).rejects.toThrow(
      /already holds another save/,
    );
  });

  it('that lost a file is made whole again', async () => {
    const source = stored('dcp-2.15.0');
    const target = new MemoryStore({});
    await reshard(source, target, divideRows(3));
    const whole = new Map(target.files);
    target.files.delete([...whole.keys()].find((path) => path.endsWith('.distcp')) ?? '');
    expect(await reshard(source, target, divideRows(3))).toMatchObject({ isComplete: true, pieces: { done: 1 } });
    expect(new Map([...target.files].toSorted())).toEqual(new Map([...whole].toSorted()));
  });

  it('keeps files that engines put beside it, and not the manifest of the old one', async () => {
    const source = stored('dcp-2.15.0');
    source.files.set('meta.pt', Uint8Array.of(1, 2, 3)).set('manifest.json', Uint8Array.of(4));
    const target = new MemoryStore({});
    expect(await reshard(source, target, divideRows(3))).toMatchObject({ others: 1 });
    expect([target.files.get('meta.pt'), target.files.has('manifest.json')]).toEqual([Uint8Array.of(1, 2, 3), false]);
  });

  it('whose target is full is no save, and its drafts go once it is complete', async () => {
    const source = stored('dcp-2.15.0');
    const target = new MemoryStore({});
    const full = Object.create(target, { write: { value: () => Promise.reject(new Error('ENOSPC')) } }) as MemoryStore;
    await expect(reshard(source, full, divideRows(3))).rejects.toThrow('ENOSPC');
    const draft = `__0_0.distcp.${crypto.randomUUID()}.part`;
    target.files.set('.coxswain-reshard', Uint8Array.of()).set(draft, Uint8Array.of(1));
    await expect(reshard(source, target, divideRows(3))).rejects.toThrow(/part of another save/);
    target.files.delete('.coxswain-reshard');
    target.files.delete(draft);
    target.writesLeft = 2;
    await reshard(source, target, divideRows(3)).catch(() => undefined);
    target.writesLeft = Infinity;
    target.files.set(draft, Uint8Array.of(1));
    await reshard(source, target, divideRows(3));
    expect([target.files.has(draft), (await look(target, 'V3')).verdict]).toEqual([false, 'sound']);
  });

  it('ends with the error of its target, also where more files wait than there is memory for', async () => {
    const refuses = Object.create(new MemoryStore({}), {
      write: { value: (path: string) => (path.startsWith('__') ? refused() : Promise.resolve(true)) },
    }) as MemoryStore;
    const work = reshard(aTensorOf(64), refuses, divideRows(64), { bandBytes: 4 });
    await expect(work).rejects.toThrow('ENOSPC');
  });

  it('killed before any write leaves no save that counts, and goes on where it was', async () => {
    const source = stored('dcp-2.15.0');
    const whole = new MemoryStore({});
    await reshard(source, whole, divideRows(3));
    for (let writes = 0; ; writes++) {
      const target = new MemoryStore({});
      target.writesLeft = writes;
      const killed = await reshard(source, target, divideRows(3)).catch((error: unknown) => error);
      target.writesLeft = Infinity;
      const { verdict } = await look(target);
      expect([killed instanceof Killed, verdict === 'sound']).toEqual([
        killed instanceof Error,
        target.files.has('.metadata'),
      ]);
      await reshard(source, target, divideRows(3));
      expect(target.files).toEqual(whole.files);
      if (!(killed instanceof Error)) break;
    }
  });

  it('whose source rots once a part was written does not become complete, and goes on from a sound copy', async () => {
    const source = stored('dcp-2.15.0');
    const sound = new Map(source.files);
    const target = new MemoryStore({});
    const write = target.write.bind(target);
    const rotting = Object.create(target, {
      write: {
        value: async (...args: Parameters<typeof write>) => {
          const written = await write(...args);
          if (!args[0].startsWith('__')) return written;
          // Each byte of what is read from now on has another bit.
          for (const [path, bytes] of sound)
            if (path.endsWith('.distcp'))
              source.files.set(
                path,
                bytes.map((byte) => byte ^ 1),
              );
          return written;
        },
      },
    }) as MemoryStore;
    await expect(reshard(source, rotting, divideRows(3))).rejects.toThrow();
    expect([target.files.has('.metadata'), [...target.files.keys()].some((path) => path.endsWith('.distcp'))]).toEqual([
      false,
      true,
    ]);
    for (const [path, bytes] of sound) source.files.set(path, bytes);
    expect(await reshard(source, target, divideRows(3))).toMatchObject({ isComplete: true });
    expect((await look(target, 'V3')).verdict).toBe('sound');
  });

  it('is written by two workers at once, also where both take the same pieces', async () => {
    const source = stored('dcp-2.15.0');
    for (const workers of [[0, 1] as const, [0, 0] as const]) {
      const target = new MemoryStore({});
      const shares = workers.map((index) => ({ worker: { index, count: new Set(workers).size } }));
      await Promise.all(shares.map((share) => reshard(source, target, divideRows(3), share)));
      await reshard(source, target, divideRows(3));
      expect((await look(target, 'V3')).verdict).toBe('sound');
    }
  });

  it('for another layout than a run that was killed is refused, and the parts of that run stay', async () => {
    const source = stored('dcp-2.15.0');
    const target = new MemoryStore({});
    target.writesLeft = 3;
    await expect(reshard(source, target, divideRows(3))).rejects.toThrow(Killed);
    target.writesLeft = Infinity;
    const before = new Map(target.files);
    await expect(reshard(source, target, divideColumns(2))).rejects.toThrow(
      /holds a part of another save that was not completed/,
    );
    expect(target.files).toEqual(before);
  });

  it('with a flipped bit in the source is refused by the name of the tensor, and nothing of that piece appears', async () => {
    const source = stored('dcp-2.15.0');
    const { state } = await look(source);
    const tensor = state?.tensors.find(({ shape }) => shape.length === 2);
    const item = tensor?.chunks[0]?.item;
    if (tensor === undefined || item === undefined) throw new Error('the fixture has no matrix');
    const bytes = Uint8Array.from(source.files.get(item.file) ?? []);
    const at = item.offset + 768;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    source.files.set(item.file, bytes);
    const target = new MemoryStore({});
    await expect(reshard(source, target, divideRows(3))).rejects.toThrow(
      new RegExp(`^Tensor ${tensor.key} in ${item.file} has other bytes than were saved`),
    );
    expect(target.files.has('.metadata')).toBe(false);
  });

  it('has pieces that share the work, the largest first', async () => {
    const { state } = await look(stored('dcp-2.15.0'));
    const { pieces, bytes } = planReshard(state ?? { tensors: [], objects: [] }, {
      divide: divideRows(3),
      pieceBytes: 200,
      crc32,
    });
    const sizes = pieces.map((piece: PlannedPiece) => piece.bytes);
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(bytes);
    expect(sizes.length).toBeGreaterThan(1);
  });
});
