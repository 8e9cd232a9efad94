import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { planConversion, verifySave } from '@coxswain/checkpoint';
import { fixture } from '@coxswain/checkpoint/testing';
import { runReading } from '../reading/run-reading.ts';
import { MemoryStore } from '../testing/memory-store.ts';
import { runConversion } from './run-conversion.ts';

/** Models that Transformers saved, each with what TorchTitan's own adapter makes of it (engines/fixtures/convert_models.py). */
const MODELS = ['llama', 'llama-tied', 'qwen3', 'qwen3_moe'] as const;

function published(model: string): MemoryStore {
  return new MemoryStore(Object.fromEntries(fixture(`models-5.23.0/${model}`).files));
}

async function look(store: MemoryStore) {
  const files = await store.list();
  return { files, ...(await runReading(store, files, verifySave(files, { level: 'V1', crc32 }))) };
}

type Options = Partial<Parameters<typeof planConversion>[1]>;

async function convert(source: MemoryStore, config: Uint8Array | undefined, options: Options): Promise<MemoryStore> {
  const target = new MemoryStore({});
  const { files, state, format } = await look(source);
  if (state === undefined) throw new Error('the source cannot be read');
  const wanted = { to: 'safetensors', names: 'keep', ranks: 1, fileBytes: 1e9, config, crc32, ...options } as const;
  await runConversion({
    plan: planConversion(state, wanted),
    source: { store: source, files, isArchived: format === 'dcp' },
    sourceId: 'a',
    target,
    bandBytes: 100,
  });
  return target;
}

/** Of each tensor of files of safetensors. */
async function hashesOf(store: MemoryStore): Promise<unknown> {
  const { state } = await look(store);
  return Object.fromEntries(
    (state?.tensors ?? []).map(({ key, dtype, shape, chunks: [chunk] }) => {
      const { file = '', offset = 0, length = 0 } = chunk?.item ?? {};
      const bytes = store.files.get(file)?.subarray(offset, offset + length) ?? new Uint8Array();
      return [key, { dtype, shape, sha256: createHash('sha256').update(bytes).digest('hex') }];
    }),
  );
}

describe.each(MODELS)('%s of Transformers', (model) => {
  const config = published(model).files.get('config.json');

  it('is under the names of TorchTitan what its own adapter makes of it', async () => {
    const adapted = published(model).files.get('torchtitan.json');
    const made = await convert(published(model), config, { names: 'torchtitan' });
    expect(await hashesOf(made)).toEqual(JSON.parse(new TextDecoder().decode(adapted)));
  });

  it.each(['torchtitan', 'megatron'] as const)(
    'is the same again by way of DCP under the names of %s',
    async (names) => {
      const dcp = await convert(published(model), config, { to: 'dcp', names, ranks: 3 });
      const back = await convert(dcp, config, { to: 'hugging-face', names: 'hugging-face' });
      expect(await hashesOf(back)).toEqual(await hashesOf(published(model)));
      expect(back.files.get('config.json')).toEqual(config);
    },
  );
});

describe('an output layer that is said to be the embedding', () => {
  it('is refused if it differs, by name', async () => {
    const config = published('llama').files.get('config.json') ?? new Uint8Array();
    const tied = Buffer.from(
      Buffer.from(config).toString().replace('"tie_word_embeddings": false', '"tie_word_embeddings": true'),
    );
    await expect(convert(published('llama'), tied, { names: 'megatron' })).rejects.toThrow(
      /^Tensors model\.embed_tokens\.weight and lm_head\.weight differ, and config\.json says that they are one/,
    );
    const both = await convert(published('llama'), tied, { names: 'torchtitan' });
    expect(await hashesOf(both)).toEqual(
      await hashesOf(await convert(published('llama'), config, { names: 'torchtitan' })),
    );
  });
});
