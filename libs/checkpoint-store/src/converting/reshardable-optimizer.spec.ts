import { crc32 } from 'node:zlib';
import { planFullyReshardable, readKeptState, verifySave, volumeOf } from '@coxswain/checkpoint';
import { fixture } from '@coxswain/checkpoint/testing';
import { runReading } from '../reading/run-reading.ts';
import { MemoryStore } from '../testing/memory-store.ts';
import { runConversion } from './run-conversion.ts';
import { SourceElements } from './source-elements.ts';

/** Two saves of the same training by Megatron-Core itself, with tensor-parallel degree 2 (engines/fixtures/save_megatron.py). */
const save = (sharding: string): MemoryStore =>
  new MemoryStore(Object.fromEntries(fixture(`megatron-core-0.16.1/${sharding}`).files));

async function look(store: MemoryStore) {
  const files = await store.list();
  const found = await runReading(store, files, verifySave(files, { level: 'V3', crc32 }));
  return { files, state: found.state ?? { tensors: [], objects: [] }, findings: found.findings };
}

async function convert(source: MemoryStore, target = new MemoryStore({})): Promise<MemoryStore> {
  const { files, state } = await look(source);
  const kept = await runReading(source, files, readKeptState(state, files, crc32));
  await runConversion({
    plan: planFullyReshardable(state, { ranks: 2, crc32, kept }),
    source: { store: source, files, isArchived: true },
    sourceId: 'a',
    target,
    bandBytes: 100,
  });
  return target;
}

/** The bytes of each tensor. */
async function bytesOf(store: MemoryStore): Promise<Readonly<Record<string, string>>> {
  const { files, state } = await look(store);
  const source = new SourceElements({ store, files, isArchived: true });
  const found: Record<string, string> = {};
  for (const tensor of state.tensors.toSorted((one, other) => (one.key < other.key ? -1 : 1))) {
    const elements = volumeOf(tensor.shape);
    const bytes = new Uint8Array(elements * (tensor.dtype === 'float32' ? 4 : 2));
    await source.read(tensor, 0, elements, bytes);
    found[`${tensor.key} ${tensor.shape.join()}`] = Buffer.from(bytes).toString('hex');
  }
  return found;
}

/** Changes stored bytes of the elements of a tensor, and their CRC-32 with them: a save that is whole and has other content. */
function changeElements(store: MemoryStore, file: string, before: Uint8Array, after: Uint8Array): void {
  const bytes = Buffer.from(store.files.get(file) ?? []);
  const at = bytes.indexOf(before);
  bytes.set(after, at);
  const sum = Buffer.alloc(4);
  const old = Buffer.alloc(4);
  old.writeUInt32LE(crc32(before));
  sum.writeUInt32LE(crc32(after));
  for (let found = bytes.indexOf(old); found >= 0; found = bytes.indexOf(old, found + 4)) bytes.set(sum, found);
  store.files.set(file, Uint8Array.from(bytes));
}

describe('a dp_reshardable save of Megatron-Core that is converted', () => {
  it('has every weight, copy and moment of the fully_reshardable save of the same training, bit by bit', async () => {
    const made = await convert(save('dp_reshardable'));
    expect(await bytesOf(made)).toEqual(await bytesOf(save('fully_reshardable')));
  });

  it('is sound, and says of itself what Megatron-Core’s own save says', async () => {
    const [made, own] = [await look(await convert(save('dp_reshardable'))), await look(save('fully_reshardable'))];
    expect(made.findings).toEqual([]);
    expect(made.state.facts).toEqual(own.state.facts);
    const keysOf = ({ state }: typeof own): readonly string[] => state.objects.map(({ key }) => key).toSorted();
    expect(keysOf(made)).toEqual(keysOf(own));
  });

  it('goes on where a run that was killed left it', async () => {
    const whole = await convert(save('dp_reshardable'));
    const rest = new MemoryStore(Object.fromEntries(whole.files));
    await rest.remove(['metadata.json', 'common.pt', '.metadata']);
    rest.files.set('.coxswain-reshard', new Uint8Array());
    await expect(convert(save('dp_reshardable'), rest)).rejects.toThrow(/part of another save/);
    expect((await convert(save('dp_reshardable'), whole)).files.size).toBe(whole.files.size);
  });

  it('is refused before anything is written if a parameter is not the copy in its place', async () => {
    const source = save('dp_reshardable');
    const { files, state } = await look(source);
    const weight = state.tensors.find(({ key }) => key === 'decoder.layers.mlp.linear_fc2.weight');
    const [chunk] = weight?.chunks ?? [];
    if (weight === undefined || chunk?.item === undefined) throw new Error('no such weight');
    const one = { ...weight, shape: chunk.sizes, chunks: [{ ...chunk, offsets: [0, 0, 0] }] };
    const before = new Uint8Array(2 * volumeOf(chunk.sizes));
    await new SourceElements({ store: source, files, isArchived: true }).read(one, 0, volumeOf(chunk.sizes), before);
    changeElements(source, chunk.item.file, before, before.with(1, (before[1] ?? 0) ^ 1));
    expect((await look(source)).findings).toEqual([]);
    const target = new MemoryStore({});
    await expect(convert(source, target)).rejects.toThrow(
      /^Parameter decoder\.layers\.mlp\.linear_fc2\.weight differs from the copy in the buckets of the optimizer, .*optimizerReshard full, and save once/,
    );
    expect(target.files.size).toBe(0);
  });
});
