import { crc32 } from 'node:zlib';
import { type ConversionPlan, divideColumns, planConversion, planReshard, verifySave } from '@coxswain/checkpoint';
import { fixture } from '@coxswain/checkpoint/testing';
import { runReading } from '../reading/run-reading.ts';
import { runReshard } from '../resharding/run-reshard.ts';
import { Killed, MemoryStore } from '../testing/memory-store.ts';
import { runConversion } from './run-conversion.ts';

type Options = Partial<Parameters<typeof planConversion>[1]>;

function stored(name: string): MemoryStore {
  return new MemoryStore(Object.fromEntries(fixture(name).files));
}

async function look(store: MemoryStore, level: 'V1' | 'V3' = 'V1') {
  const files = await store.list();
  return { files, ...(await runReading(store, files, verifySave(files, { level, crc32 }))) };
}

async function planned(source: MemoryStore, options: Options) {
  const { files, state, format } = await look(source);
  if (state === undefined) throw new Error('the source cannot be read');
  const plan = planConversion(state, {
    to: 'safetensors',
    names: 'keep',
    config: undefined,
    ranks: 1,
    fileBytes: 200,
    crc32,
    ...options,
  });
  const isArchived = format !== 'safetensors' && format !== 'hugging-face';
  return { plan, source: { store: source, files, isArchived } };
}

async function convert(
  source: MemoryStore,
  target: MemoryStore,
  options: Options = {},
  bandBytes = 24,
): Promise<ConversionPlan> {
  const work = await planned(source, options);
  await runConversion({ ...work, sourceId: 'a', target, bandBytes });
  return work.plan;
}

/** The bytes of each weight, the last dim moving fastest. */
async function weightsOf(store: MemoryStore): Promise<Readonly<Record<string, string>>> {
  const whole = new MemoryStore({});
  const { format } = await look(store);
  if (format === 'safetensors') await convert(store, whole, { to: 'safetensors', fileBytes: 1e9 });
  else await convert(store, whole, { fileBytes: 1e9 });
  const { state } = await look(whole);
  return Object.fromEntries(
    (state?.tensors ?? []).map(({ key, dtype, shape, chunks: [chunk] }) => {
      const { file = '', offset = 0, length = 0 } = chunk?.item ?? {};
      const bytes = Buffer.from(whole.files.get(file)?.subarray(offset, offset + length) ?? []);
      return [`${key} ${dtype} ${shape.join()}`, bytes.toString('base64')];
    }),
  );
}

/** A save of PyTorch, divided anew by columns so that chunks are no ranges of elements. */
async function byColumns(name: string): Promise<MemoryStore> {
  const source = stored(name);
  const { files, state } = await look(source);
  const target = new MemoryStore({});
  if (state === undefined) throw new Error('the source cannot be read');
  const plan = planReshard(state, { divide: divideColumns(3), pieceBytes: 1e9, crc32 });
  await runReshard({ source, files, target, plan, paths: undefined, sourceId: 'a', bandBytes: 64 });
  return target;
}

describe('a converted save', () => {
  it.each(['dcp-2.15.0', 'dcp-file-per-item-2.15.0', 'dcp-no-crc-2.15.0'])(
    'of %s holds each weight bit by bit, as safetensors and as DCP again',
    async (name) => {
      const [weights, dcp] = [new MemoryStore({}), new MemoryStore({})];
      await convert(stored(name), weights);
      await convert(weights, dcp, { to: 'dcp', ranks: 3 });
      const wanted = await weightsOf(stored(name));
      expect(Object.keys(wanted).length).toBeGreaterThan(0);
      expect(await weightsOf(weights)).toEqual(wanted);
      expect(await weightsOf(dcp)).toEqual(wanted);
      // Nothing vouched for the bytes of safetensors, so no checksum does now.
      expect([(await look(weights, 'V3')).verdict, (await look(dcp, 'V3')).verdict]).toEqual([
        'unverifiable',
        'unverifiable',
      ]);
    },
  );

  it('has checksums of its own where the source has', async () => {
    const target = new MemoryStore({});
    await convert(stored('dcp-2.15.0'), target, { to: 'dcp', ranks: 2 });
    expect((await look(target, 'V3')).verdict).toBe('sound');
  });

  it('is the same from chunks that are columns', async () => {
    expect(await weightsOf(await byColumns('dcp-2.15.0'))).toEqual(await weightsOf(stored('dcp-2.15.0')));
  });

  it('says by name what it leaves behind', async () => {
    const { leftBehind } = await convert(stored('megatron-core-0.16.1/fully_reshardable'), new MemoryStore({}));
    expect(leftBehind).toEqual([
      {
        what: 'optimizer',
        count: 24,
        examples: expect.arrayContaining(['optimizer.state.param.decoder.final_layernorm.weight']),
      },
      { what: 'extra states of modules (FP8 scales among them)', count: 4, examples: expect.any(Array) },
      { what: 'random states', count: 2, examples: ['rng_state/shard_0.0_1.2', 'rng_state/shard_0.1_1.2'] },
    ]);
  });

  it('has another dtype only if it is asked for', async () => {
    const target = new MemoryStore({});
    await convert(stored('dcp-2.15.0'), target, { dtype: 'bf16' });
    const { state } = await look(target);
    const dtypes = (state?.tensors ?? []).map(({ key, dtype }) => `${key} ${dtype}`).toSorted();
    expect(dtypes).toContain('model.both bfloat16');
    expect(dtypes).toContain('model.columnMajor int32');
  });
});

describe('a conversion that is killed before any of its writes', () => {
  it('leaves no save that counts, and goes on to the same bytes when it runs again', async () => {
    const wanted = new MemoryStore({});
    await convert(stored('dcp-2.15.0'), wanted);
    for (let writes = 0; ; writes++) {
      const target = new MemoryStore({});
      target.writesLeft = writes;
      const ended = await convert(stored('dcp-2.15.0'), target).then(
        () => 'done',
        (error: unknown) => (error instanceof Killed ? 'killed' : Promise.reject(error as Error)),
      );
      if (ended === 'done') break;
      const hasIndex = target.files.has('model.safetensors.index.json');
      target.writesLeft = Infinity;
      if (!hasIndex) expect((await look(target)).verdict).not.toBe('sound');
      await convert(stored('dcp-2.15.0'), target);
      if (!hasIndex) expect([...target.files].toSorted()).toEqual([...wanted.files].toSorted());
    }
  });
});

describe('a conversion refuses', () => {
  /** Changes a bit of an element in the second chunk of a tensor. */
  const damage = async (source: MemoryStore): Promise<void> => {
    const { state } = await look(source);
    const item = state?.tensors.find(({ key }) => key === 'model.both')?.chunks[1]?.item;
    const file = source.files.get(item?.file ?? '') ?? new Uint8Array();
    // Where elements begin in the archive of a tensor that PyTorch saved.
    const at = (item?.offset ?? 0) + 704;
    file[at] = (file[at] ?? 0) ^ 1;
  };

  it('a source with another bit than was saved, and removes what it wrote', async () => {
    const source = stored('dcp-2.15.0');
    await damage(source);
    const target = new MemoryStore({});
    await expect(convert(source, target)).rejects.toThrow(
      /^Tensor model\.both in .* has other bytes than were saved \(CRC-32 /,
    );
    expect([...target.files.keys()]).toEqual([]);
  });

  it('a source that was damaged after a run that was killed had read it', async () => {
    const source = stored('dcp-2.15.0');
    const target = new MemoryStore({});
    // The claim, and the file of the tensor.
    target.writesLeft = 2;
    await expect(convert(source, target)).rejects.toThrow(Killed);
    expect([...target.files.keys()]).toContain('model-00001-of-00002.safetensors');
    await damage(source);
    target.writesLeft = Infinity;
    await expect(convert(source, target)).rejects.toThrow(/^Tensor model\.both in .* has other bytes than were saved/);
  });

  it('a source that was written again while it was read', async () => {
    const { plan, source } = await planned(stored('dcp-2.15.0'), {});
    const before = source.files.map((file) => ({ ...file, writtenMs: 1 }));
    const target = new MemoryStore({});
    await expect(
      runConversion({ plan, source: { ...source, files: before }, sourceId: 'a', target, bandBytes: 24 }),
    ).rejects.toThrow(/^__\d_\d\.distcp in .* was changed while it was read\. The new save was removed/);
    expect([...target.files.keys()]).toEqual([]);
  });

  it('a target that holds something else, or another save', async () => {
    await expect(convert(stored('dcp-2.15.0'), new MemoryStore({ 'notes.txt': Uint8Array.of(1) }))).rejects.toThrow(
      /is not empty: it holds notes\.txt/,
    );
    const target = new MemoryStore({});
    await convert(stored('dcp-2.15.0'), target);
    await expect(convert(stored('dcp-file-per-item-2.15.0'), target)).rejects.toThrow(/already holds another save/);
  });

  it('a target that was complete, and has lost a file since', async () => {
    const target = new MemoryStore({});
    await convert(stored('dcp-2.15.0'), target);
    target.files.delete('model-00001-of-00002.safetensors');
    await expect(convert(stored('dcp-2.15.0'), target)).rejects.toThrow(
      /holds this save, but model-00001-of-00002\.safetensors is missing or has another size\. Delete it/,
    );
  });

  it('dtypes that safetensors does not have, and names them all', async () => {
    await expect(convert(stored('dcp-zstd-2.15.0'), new MemoryStore({}))).rejects.toThrow(
      /is stored changed \(stream\.zstd/,
    );
  });
});
