import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { island, pinned, readRequest, type RequestOptions } from './plan-request.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-request-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function aFile(name: string, content: unknown): string {
  const path = join(directory, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const OPTIONS: RequestOptions = { model: 'llama-3.1-70b', gpu: 'H100 SXM', gpus: 512, globalBatch: 1024, seq: 8192 };
const { gpus: _, ...WITHOUT_GPUS } = OPTIONS;
const CONFIG = {
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 256,
  num_attention_heads: 4,
  num_hidden_layers: 2,
  vocab_size: 1000,
};

describe('options make a request', () => {
  it.each<[string, RequestOptions, object]>([
    [
      'names are those of the presets, nodes as the GPU comes',
      OPTIONS,
      {
        model: 'llama-3.1-70b',
        cluster: { gpu: 'h100-sxm5-80gb', gpus: 512, gpusPerNode: 8 },
        globalBatchSize: 1024,
        sequenceLength: 8192,
        objective: 'time',
      },
    ],
    ['GB200 comes with four to a node', { ...OPTIONS, gpu: 'gb200' }, { cluster: { gpusPerNode: 4 } }],
    ['fewer GPUs than a node holds', { ...OPTIONS, gpus: 2 }, { cluster: { gpus: 2, gpusPerNode: 2 } }],
    [
      'a NIC of 400 Gb/s is 50 GB/s',
      { ...OPTIONS, nicGbps: 400, nic: 'roce' },
      { cluster: { scaleOutGbPerS: 50, nicKind: 'roce' } },
    ],
    [
      'islands sum to the GPUs',
      {
        ...WITHOUT_GPUS,
        island: island('gpus=128', island('gpus=256,gpu=a100,gbps=200,nic=roce,speed=0.8')),
        stagesInOneIsland: true,
      },
      {
        cluster: {
          gpus: 384,
          stagesInOneIsland: true,
          islands: [
            { gpus: 256, gpu: 'a100-sxm4-80gb', scaleOutGbPerS: 25, nicKind: 'roce', relativeSpeed: 0.8 },
            { gpus: 128, relativeSpeed: 1 },
          ],
        },
      },
    ],
    [
      'pins',
      { ...OPTIONS, pin: pinned('tp=8,recompute=none,zero=1') },
      { pinned: { tensor: 8, recompute: 'none', zeroStage: 1 } },
    ],
    [
      'tokens, deadline and objective',
      { ...OPTIONS, tokens: 15e12, deadline: 720, objective: 'gpus', top: 3 },
      { tokens: 15e12, deadlineHours: 720, objective: 'gpus', top: 3 },
    ],
  ])('%s', (_, options, want) => {
    expect(readRequest(options).request).toMatchObject(want);
  });

  it('options come before the file', () => {
    const file = aFile(
      'request.yaml',
      'model: gpt3-175b\ncluster: {gpu: a100, gpus: 64}\nglobalBatchSize: 512\nsequenceLength: 2048\npinned: {tensor: 4, pipeline: 2}\n',
    );
    const { request } = readRequest({ file, gpus: 128, pin: pinned('tp=8') });
    expect(request).toMatchObject({
      model: 'gpt3-175b',
      cluster: { gpu: 'a100-sxm4-80gb', gpus: 128 },
      globalBatchSize: 512,
      pinned: { tensor: 8, pipeline: 2 },
    });
  });

  it.each<[string, () => string, object, readonly string[]]>([
    [
      'a config.json is named after its directory',
      () => aFile('tiny-llama/config.json', CONFIG),
      { name: 'tiny-llama', layers: 2, keyValueHeads: 4 },
      ['num_key_value_heads is absent: 4'],
    ],
    [
      'a shape is taken as it is',
      () =>
        aFile(
          'shape.yaml',
          'layers: 2\nhiddenSize: 64\nffnHiddenSize: 256\nattentionHeads: 4\nkeyValueHeads: 4\nheadDim: 16\nvocabularySize: 1000\ngatedMlp: true\n',
        ),
      { name: 'shape', layers: 2 },
      [],
    ],
  ])('%s', (_, file, shape, assumed) => {
    const read = readRequest({ ...OPTIONS, model: file() });
    expect(read.request.modelShape).toMatchObject(shape);
    expect(read.request.model).toBeUndefined();
    expect(read.assumed).toEqual(assumed);
  });
});

describe('what cannot be planned is refused in words', () => {
  it.each<[string, () => RequestOptions, RegExp]>([
    ['an unknown model', () => ({ ...OPTIONS, model: 'lama-70b' }), /model "lama-70b" is not known; nearest: llama/],
    ['an unknown GPU', () => ({ ...OPTIONS, gpu: 'h10' }), /GPU "h10" is not known; nearest: .*h100-sxm5-80gb/],
    [
      'a network that carries nothing',
      () => ({ ...OPTIONS, nicGbps: 1e-300 }),
      /cluster\.scaleOutGbPerS \(--nic-gbps\): is 1\.25e-301; it must be at least 0\.001/,
    ],
    [
      'no GPUs',
      () => ({ ...OPTIONS, gpus: 0 }),
      /^[^\n]*:\n {2}cluster\.gpus \(--gpus\): is 0; it must be at least 1$/,
    ],
    [
      'a margin over a half',
      () => ({ ...OPTIONS, margin: 0.6 }),
      /memoryMarginShare \(--margin\): is 0\.6; it must be at most 0\.5/,
    ],
    [
      'a stage that there is none of',
      () => ({ ...OPTIONS, pin: pinned('zero=4') }),
      /pinned\.zeroStage \(--pin\): is 4; it must be at most 3/,
    ],
    [
      'no batch',
      () => ({ model: 'llama-3.1-8b', gpu: 'h100', gpus: 8, seq: 8192 }),
      /globalBatchSize \(--global-batch\): is required/,
    ],
    ['no GPU', () => ({ model: 'llama-3.1-8b', globalBatch: 8, seq: 8192 }), /cluster\.gpu \(--gpu\): /],
    ['no model', () => ({ gpu: 'h100', gpus: 8, globalBatch: 8, seq: 8192 }), /model \(--model\): give exactly one of/],
    ['a deadline alone', () => ({ ...OPTIONS, deadline: 3 }), /tokens \(--tokens\): deadlineHours needs the tokens/],
    [
      'a file that is not there',
      () => ({ ...OPTIONS, file: join(directory, 'none.yaml') }),
      /Cannot read .*none\.yaml/,
    ],
    ['a file of two documents', () => ({ file: aFile('two.yaml', 'a: 1\n---\nb: 2\n') }), /holds 2 documents/],
    ['a broken file', () => ({ file: aFile('broken.yaml', '{a: [') }), /neither YAML nor JSON/],
    ['a list', () => ({ file: aFile('list.yaml', '- 1\n') }), /contains no plan request/],
    [
      'a GPU that is a number',
      () => ({ file: aFile('number.yaml', 'cluster: {gpu: 7}\n') }),
      /cluster\.gpu \(--gpu\): is 7; /,
    ],
    [
      'islands that are text',
      () => ({ file: aFile('text.yaml', 'cluster: {gpu: h100, islands: many}\n') }),
      /cluster\.islands \(--island\): is "many"; /,
    ],
    [
      'a file of six million bytes',
      () => ({ file: aFile('large.yaml', `# ${'x'.repeat(6_000_000)}`) }),
      /has 5\.7 MiB; the maximum is 2 MiB/,
    ],
    ['an empty file', () => ({ file: aFile('empty.yaml', '') }), /is empty|holds no request/],
    [
      'a file that is no model',
      () => ({ ...OPTIONS, model: aFile('other.json', { layers: 2 }) }),
      /neither a Hugging Face config\.json .* nor a model shape/s,
    ],
    [
      'a family without a reader',
      () => ({ ...OPTIONS, model: aFile('config.json', { ...CONFIG, model_type: 'rwkv' }) }),
      /model_type "rwkv" cannot be imported/,
    ],
  ])('%s', (_, options, message) => {
    expect(() => readRequest(options())).toThrow(message);
  });

  it.each([
    ['gbps=200', /lacks gpus=/],
    ['gpus=8,nic=carrier-pigeon', /"carrier-pigeon" is not one of infiniband/],
    ['gpus=many', /"many" is not a whole number/],
    ['gpus=8,gpu=h1000', /h1000/],
  ])('island %s', (text, message) => {
    expect(() => island(text)).toThrow(message);
  });

  it.each([
    ['tp=x', /"x" is not a whole number\.$/],
    ['mbs=1k', /"1k" is not a whole number; write all its digits, as in 8192\.$/],
    ['recompute=some', /"some" is not one of none, core-attention/],
    ['offload-optimizer=half', /"half" is not a share from 0 to 1/],
    ['sp=2', /"sp" is not one of tp, cp/],
  ])('pin %s', (text, message) => {
    expect(() => pinned(text)).toThrow(message);
  });
});
