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

async function convert(
  source: MemoryStore,
  config: Uint8Array | undefined,
  options: Options,
  target = new MemoryStore({}),
): Promise<MemoryStore> {
  const { files, state, format } = await look(source);
  if (state === undefined) throw new Error('the source cannot be read');
  const wanted = { to: 'safetensors', names: 'keep', ranks: 1, fileBytes: 1e9, config, crc32, ...options } as const;
  await runConversion({
    plan: planConversion(state, wanted),
    source: { store: source, files, isArchived: format === 'dcp' || format === 'torch_dist' },
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

it('is a save of Megatron-LM, which counts as sound and says that it holds weights alone', async () => {
  const source = published('qwen3_moe');
  const config = source.files.get('config.json');
  const made = await convert(source, config, { to: 'torch_dist', names: 'megatron', ranks: 3 });
  const { format, verdict, state, findings } = await look(made);
  expect({ format, verdict, findings }).toEqual({ format: 'torch_dist', verdict: 'sound', findings: [] });
  expect(state?.facts).toMatchObject({ step: 0, holds: { optimizer: false, randomStates: false } });
  const experts = state?.tensors.find(({ key }) => key.endsWith('mlp.experts.experts.linear_fc1.weight'));
  expect(experts?.shape.length).toBe(4);
  const back = await convert(made, config, { to: 'hugging-face', names: 'hugging-face' });
  expect(await hashesOf(back)).toEqual(await hashesOf(source));
});

it('a model with experts that Megatron-Core saved is the same by way of Transformers, and as a save of Megatron-LM again', async () => {
  const source = new MemoryStore(Object.fromEntries(fixture('megatron-core-0.16.1/experts').files));
  const config = source.files.get('config.json');
  const weights = await convert(source, config, { to: 'hugging-face', names: 'hugging-face' });
  const again = await convert(weights, config, { to: 'torch_dist', names: 'megatron', ranks: 2 });
  expect((await look(again)).state?.tensors).toHaveLength(12);
  expect(await hashesOf(await convert(again, undefined, {}))).toEqual(
    await hashesOf(await convert(source, undefined, {})),
  );
});

describe('an output layer that is said to be the embedding', () => {
  it('is refused if it differs, by name', async () => {
    const config = published('llama').files.get('config.json') ?? new Uint8Array();
    const tied = Buffer.from(
      Buffer.from(config).toString().replace('"tie_word_embeddings": false', '"tie_word_embeddings": true'),
    );
    const target = new MemoryStore({});
    await expect(convert(published('llama'), tied, { names: 'megatron' }, target)).rejects.toThrow(
      /^Tensors model\.embed_tokens\.weight and lm_head\.weight differ, and config\.json says that they are one/,
    );
    // The other plan that the error asks for has the same target.
    await convert(published('llama'), config, { names: 'megatron' }, target);
    const both = await convert(published('llama'), tied, { names: 'torchtitan' });
    expect(await hashesOf(both)).toEqual(
      await hashesOf(await convert(published('llama'), config, { names: 'torchtitan' })),
    );
  });
});

describe('config.json beside the new save', () => {
  const said = async (from: string, dtype?: 'bf16' | 'fp32'): Promise<unknown> => {
    const own = Buffer.from(published('llama').files.get('config.json') ?? []).toString();
    expect(own).toContain('"dtype": "bfloat16"');
    const config = Buffer.from(own.replace('"dtype": "bfloat16"', from));
    const made = await convert(published('llama'), config, { to: 'hugging-face', names: 'hugging-face', dtype });
    const text = Buffer.from(made.files.get('config.json') ?? []).toString();
    return text === config.toString() ? 'unchanged' : (JSON.parse(text) as { dtype?: unknown; torch_dtype?: unknown });
  };

  it('names the dtype of its weights, to which Transformers casts them', async () => {
    expect(await said('"dtype": "float16"')).toMatchObject({ dtype: 'bfloat16' });
    expect(await said('"torch_dtype": "float32"')).toMatchObject({ torch_dtype: 'bfloat16' });
    expect(await said('"dtype": "bfloat16"', 'fp32')).toMatchObject({ dtype: 'float32' });
    expect(await said('"torch_dtype": "bfloat16"')).toBe('unchanged');
    expect(await said('"dtype": null')).toBe('unchanged');
  });
});
