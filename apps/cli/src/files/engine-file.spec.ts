import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';
import { readEngineFile, withEngineFile } from './engine-file.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-engine-file-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const TOML = `# of TorchTitan
[parallelism]
tensor_parallel_degree = 2 # ways
[checkpoint]
exclude_from_loading = [
  "a,b", 'c',
]
keep_latest_k = 1_0
`;

describe('the options of an engine file', () => {
  it.each<[string, string, string, readonly (readonly [string, string])[]]>([
    [
      'DeepSpeed JSON, without what it leaves to Trainer',
      'ds.json',
      '{"gradient_clipping": 1.0, "train_batch_size": "auto", "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}}',
      [
        ['gradient_clipping', '1'],
        ['zero_optimization.stage', '2'],
        ['zero_optimization.reduce_bucket_size', '500000000'],
      ],
    ],
    [
      'TorchTitan TOML',
      'train.toml',
      TOML,
      [
        ['parallelism.tensor_parallel_degree', '2'],
        ['checkpoint.exclude_from_loading', '["a,b","c"]'],
        ['checkpoint.keep_latest_k', '10'],
      ],
    ],
    [
      'YAML',
      'bridge.yaml',
      'ddp:\n  bucket_size: 4\n  flag: true\n',
      [
        ['ddp.bucket_size', '4'],
        ['ddp.flag', 'true'],
      ],
    ],
  ])('are those of %s', (_sentence, name, text, want) => {
    expect(readEngineFile(file(name, text)).map((one) => [one.name, one.value])).toEqual(want);
  });

  it.each([
    [
      'a line of TOML that is no value',
      'a.toml',
      '[a]\nb = 1979-05-27',
      /a\.toml, line 2: cannot read "b = 1979-05-27"/,
    ],
    ['a name that no engine has', 'a.json', '{"a b": 1}', /has a b, which cannot be an option/],
    ['a list', 'a.json', '[1]', /holds no options/],
  ])('are refused of %s, with what to do', (_sentence, name, text, want) => {
    expect(() => readEngineFile(file(name, text))).toThrow(want);
  });

  it('join those of the job, and all that disagree are named at once', () => {
    const options = [
      { name: 'a', value: '1' },
      { name: 'b', value: '2' },
    ];
    const other = file('a.json', '{"a": 1, "c": 3}');
    expect(withEngineFile({ options }, other).options).toEqual([...options, { name: 'c', value: '3' }]);
    expect(() => withEngineFile({ options }, file('b.json', '{"a": 2, "b": 3}'))).toThrow(
      /a: 1 in the job, 2 in .*\n {2}b: 2 in the job, 3 in /,
    );
  });
});

describe('coxswain with --engine-file', () => {
  const layout = 'engine: {name: deepspeed}\nlayout: {dataParallelDegree: 2, states: {zeroStage: 2}}\n';
  const asked = (text: string): Promise<OfflineOutcome[]> => {
    const flags = ['--engine-file', file('ds.json', text)];
    const path = file('layout.yaml', layout);
    return Promise.all([
      runOffline({}, 'layout', 'check', path, ...flags),
      runOffline({}, 'render', '--layout', path, ...flags),
    ]);
  };

  it('passes on what sets no fact, and says that it is not priced', async () => {
    for (const { code, out } of await asked('{"zero_optimization": {"stage": 2, "reduce_bucket_size": 7}}')) {
      expect(code).toBe(0);
      expect(out).toContain('zero_optimization.reduce_bucket_size 7 is passed through and not priced');
    }
  });

  it('refuses all that contradicts the job in one answer, with the fields that decide', async () => {
    const text =
      '{"train_micro_batch_size_per_gpu": 64, "zero_optimization": {"stage": 3}, "sequence_parallel_size": 4}';
    for (const { code, out } of await asked(text)) {
      expect(code).toBe(1);
      for (const field of ['layout.states.zeroStage', 'training.microBatchSize', 'layout.contextParallelDegree'])
        expect(out).toContain(field);
    }
  });
});
