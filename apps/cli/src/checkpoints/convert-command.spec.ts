import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures');
const MEGATRON = join(FIXTURES, 'megatron-core-0.16.1/fully_reshardable');
/** Of the model in `engines/fixtures/save_megatron.py`, whose vocabulary is padded from 30 words to 32. */
const CONFIG = {
  model_type: 'llama',
  num_hidden_layers: 1,
  hidden_size: 8,
  num_attention_heads: 2,
  intermediate_size: 16,
  vocab_size: 30,
  tie_word_embeddings: true,
  dtype: 'bfloat16',
};

let directory: string;
let target: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-convert-'));
  target = join(directory, 'new');
});
afterEach(() => rmSync(directory, { recursive: true }));

const convert = (source: string, ...argv: readonly string[]): Promise<OfflineOutcome> =>
  runOffline({}, 'checkpoint', 'convert', source, target, ...argv);

function config(change: Readonly<Record<string, unknown>> = {}): string {
  const file = join(directory, 'config.json');
  writeFileSync(file, JSON.stringify({ ...CONFIG, ...change }));
  return file;
}

describe('checkpoint convert', () => {
  it('says with --plan what it would write and leave behind, and writes nothing', async () => {
    const { out, code } = await convert(MEGATRON, '--to', 'hugging-face', '--model-config', config(), '--plan');
    expect([code, existsSync(target)]).toEqual([0, false]);
    expect(out).toMatch(/^TENSOR +DTYPE +SHAPE\nmodel\.embed_tokens\.weight +bfloat16 +30 x 8\n/);
    expect(out).toMatch(/11 tensors, [\d.]+ KiB in 1 file, from the names of Megatron-LM to those of Hugging Face\./);
    expect(out).toMatch(/\nLeft behind, optimizer: optimizer\.state\..* and 21 more\./);
    expect(out).toMatch(
      /\nLeft behind, padding beyond the words of config\.json: 2 of 32 rows of embedding\.word_embeddings\.weight\./,
    );
    expect(out).toMatch(/Nothing was written: leave out --plan to write the save\.$/);
  });

  it('keeps all of a save of Megatron-LM, and stores its optimizer so that every layout loads it', async () => {
    const bound = join(FIXTURES, 'megatron-core-0.16.1/dp_reshardable');
    const { out } = await convert(bound, '--to', 'torch_dist', '--optimizer', 'fully_reshardable', '--ranks', '2');
    expect(out).toMatch(/^The save in .* is complete: 32 tensors, [\d.]+ KiB read, 2 files written\.$/);
    expect((await runOffline({}, 'checkpoint', 'show', target)).out).toMatch(
      /\nStep +12\n[^]*\nOptimizer +fully_reshardable\n/,
    );
  });

  it('writes a model for Transformers from a save of Megatron-LM, and does nothing when it is run again', async () => {
    const argv = ['--to', 'hugging-face', '--model-config', config()] as const;
    expect((await convert(MEGATRON, ...argv)).out).toMatch(
      /^The save in .* is complete: 11 tensors, .* read, 1 file written\.\nLeft behind, optimizer: /,
    );
    expect(readdirSync(target).toSorted()).toEqual([
      'config.json',
      'model-00001-of-00001.safetensors',
      'model.safetensors.index.json',
    ]);
    expect(JSON.parse(readFileSync(join(target, 'config.json'), 'utf8'))).toEqual(CONFIG);
    expect((await convert(MEGATRON, ...argv)).out).toMatch(/0 files written; already there: 1\./);
  });

  it('writes a save of Megatron-LM under its names, unless others are asked for', async () => {
    await convert(MEGATRON, '--to', 'torch_dist', '--model-config', config(), '--ranks', '2');
    expect(readdirSync(target).toSorted()).toEqual([
      '.metadata',
      '__0_0.distcp',
      '__1_0.distcp',
      'common.pt',
      'metadata.json',
    ]);
    const { out } = await runOffline({}, 'checkpoint', 'show', target);
    expect(out).toMatch(/^Format +torch_dist\nVerdict +sound, as far as V1 sees\n/);
    expect(out).toMatch(/\nHolds +weights only\n/);
    expect(out).toMatch(/\nembedding +1 /);
  });

  it('changes the dtype only if it is asked to, and config.json with it', async () => {
    await convert(MEGATRON, '--to', 'hugging-face', '--model-config', config(), '--dtype', 'fp32');
    expect(JSON.parse(readFileSync(join(target, 'config.json'), 'utf8'))).toEqual({ ...CONFIG, dtype: 'float32' });
    const { out } = await runOffline({}, 'checkpoint', 'show', target);
    expect(out).toMatch(/float32/);
    expect(out).not.toMatch(/bfloat16/);
  });

  it.each<[string, readonly string[], Readonly<Record<string, unknown>> | undefined, RegExp]>([
    [
      'a model whose sizes nothing says',
      [MEGATRON, '--to', 'hugging-face'],
      undefined,
      /do not say how many attention heads the model has\. Name the config\.json of the model with --model-config\./,
    ],
    [
      'a configuration that is not that of the save, with all that differs',
      [MEGATRON, '--to', 'hugging-face'],
      { intermediate_size: 12, num_hidden_layers: 2 },
      /Tensor decoder\.layers\.self_attention\.linear_proj\.weight has the shape \[1, 8, 8\], and after config\.json it would be \[2, 8, 8\]\. .*There are \d+ more problems/s,
    ],
    [
      'a configuration that is no JSON',
      [
        MEGATRON,
        '--to',
        'hugging-face',
        '--model-config',
        join(FIXTURES, 'megatron-core-0.16.1/fully_reshardable/.metadata'),
      ],
      undefined,
      /The config\.json of the model is no JSON object\. Name the config\.json of the model with --model-config\./,
    ],
    [
      'a model that no table has',
      [MEGATRON, '--to', 'hugging-face'],
      { model_type: 'gpt2' },
      /Models of type gpt2 are not spelled in another way here, only llama, .* Use --names keep/,
    ],
    [
      'a model that the other engine does not have',
      [MEGATRON, '--to', 'dcp', '--names', 'torchtitan'],
      { model_type: 'mistral' },
      /TorchTitan has no spelling of mistral models here, only of llama, qwen3, qwen3_moe\./,
    ],
    [
      'names that no table has',
      [join(FIXTURES, 'dcp-2.15.0'), '--to', 'hugging-face'],
      {},
      /The names of the save's tensors, such as model\.both, are not those of a llama model in Hugging Face, TorchTitan, Megatron-LM\./,
    ],
    [
      'a save of another format',
      [join(FIXTURES, 'deepspeed-0.19.8/zero1/global_step2'), '--to', 'safetensors'],
      undefined,
      /is no save whose weights are converted here \(format deepspeed;/,
    ],
    [
      'a save whose optimizer loads at all layouts',
      [MEGATRON, '--to', 'torch_dist', '--optimizer', 'fully_reshardable'],
      undefined,
      /The optimizer of the save is fully_reshardable, and only dp_reshardable is converted\. "coxswain checkpoint loads" says/,
    ],
    [
      'the optimizer of another format',
      [MEGATRON, '--to', 'dcp', '--optimizer', 'fully_reshardable'],
      undefined,
      /--optimizer fully_reshardable converts a save of torch_dist to torch_dist, and this is torch_dist to dcp\. Leave it out/,
    ],
    [
      'other names beside the optimizer',
      [MEGATRON, '--to', 'torch_dist', '--optimizer', 'fully_reshardable', '--names', 'keep'],
      undefined,
      /option '--optimizer <sharding>' cannot be used with option '--names <spelling>'/,
    ],
    ['no format', [MEGATRON], undefined, /required option '--to <format>' not specified/],
  ])('refuses %s', async (_what, argv, changes, message) => {
    const [source = '', ...options] = argv;
    const named = changes === undefined ? [] : ['--model-config', config(changes)];
    const { err, code } = await convert(source, ...options, ...named);
    expect([code === 0, existsSync(target)]).toEqual([false, false]);
    expect(err).toMatch(message);
  });

  it('refuses a target that holds something else', async () => {
    mkdirSync(target);
    writeFileSync(join(target, 'notes.txt'), 'x');
    expect((await convert(MEGATRON, '--to', 'safetensors')).err).toMatch(/is not empty: it holds notes\.txt/);
  });
});
