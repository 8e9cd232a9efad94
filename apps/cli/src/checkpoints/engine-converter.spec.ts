import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const MEGATRON = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/megatron-core-0.16.1');
const IN_JOB = ['--image', 'engine:1', '--claim', 'tiny', '--memory', '64Gi', '--job', 'convert-1'];
const FSDP = ['--to', 'fsdp_dtensor', '--converter', 'megatron-lm'];
const TO_HUGGING_FACE = ['--to', 'hugging-face', '--converter', 'megatron-bridge'];
const TO_BRIDGE = ['--to', 'torch_dist', '--converter', 'megatron-bridge'];

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
}

const convert = (...argv: readonly string[]): Promise<OfflineOutcome> =>
  runOffline({}, 'checkpoint', 'convert', ...argv);

/** The printed Job, and its containers in their order. */
async function jobOf(
  ...argv: readonly string[]
): Promise<{ readonly spec: object; readonly steps: readonly Container[] }> {
  const { code, out, err } = await convert('runs/old', 'runs/new', ...argv, ...IN_JOB);
  expect([code, err]).toEqual([0, '']);
  const { spec } = parse(out) as {
    spec: { template: { spec: { initContainers: readonly Container[]; containers: readonly Container[] } } };
  };
  const { initContainers, containers } = spec.template.spec;
  return { spec, steps: [...initContainers, ...containers] };
}

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-converter-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function program(name: string, text: string): void {
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(join(root, 'bin', name), text);
  chmodSync(join(root, 'bin', name), 0o755);
}

describe('checkpoint convert with the converter of an engine', () => {
  it('prints a bounded Job: check the source, convert, verify the draft, publish it', async () => {
    const { spec, steps } = await jobOf(...FSDP, '--swiglu', '--gpus', '8', '--deadline', '90');
    expect(spec).toMatchObject({ activeDeadlineSeconds: 5_400, backoffLimit: 2 });
    expect(steps.map(({ name, image }) => `${name} ${image.replace(/:\S+/, '')}`)).toEqual([
      'check coxswain/cli',
      'convert engine',
      'verify coxswain/cli',
      'publish engine',
    ]);
    expect(steps.map(({ resources }) => resources.limits['nvidia.com/gpu'])).toEqual([
      undefined,
      '8',
      undefined,
      undefined,
    ]);
    expect(steps[0]?.args).toEqual([
      ...['checkpoint', 'convert', '/checkpoints/runs/old', '/checkpoints/runs/new'],
      ...[...FSDP, '--swiglu', '--plan'],
    ]);
    expect(steps[2]?.args).toEqual(['checkpoint', 'verify', '/checkpoints/runs/new.converting']);
  });

  it('verifies the iteration that Megatron-Bridge writes, on CPUs', async () => {
    const { steps } = await jobOf(...TO_BRIDGE);
    expect([steps[2]?.args?.at(-1), steps[1]?.resources.limits]).toEqual([
      '/checkpoints/runs/new.converting/iter_0000000',
      { memory: '64Gi' },
    ]);
  });

  it.each<[release: string, tool: string, options: readonly string[], groups: RegExp]>([
    ['before core_v0.16', 'no such option', [], /^$/],
    [
      'whose default is the text {}',
      '--param-to-param-group-map-json',
      [],
      /^--param-to-param-group-map-json \S+groups\.json$/,
    ],
    [
      'with groups of the user',
      '--param-to-param-group-map-json',
      ['--param-groups', 'groups.json'],
      /^--param-to-param-group-map-json \/checkpoints\/groups\.json$/,
    ],
  ])('starts the converter of a release of Megatron-LM %s', async (_release, tool, options, groups) => {
    const { steps } = await jobOf(...FSDP, '--swiglu', '--gpus', '2', ...options);
    const [shell = '', ...args] = steps[1]?.command ?? [];
    const folder = join(root, 'tools', 'checkpoint');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'checkpoint_inspector.py'), tool);
    program('torchrun', '#!/bin/sh\nprintf "%s\\n" "$*"\n');
    const here = args.map((arg) => arg.replaceAll('/tmp/groups.json', join(root, 'groups.json')));
    const env = { PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}` };
    const line = execFileSync(shell, here, { cwd: root, env, encoding: 'utf8' }).trim();
    const [, found = ''] =
      /^--standalone --nproc-per-node 2 tools\/checkpoint\/checkpoint_inspector\.py convert-torch-dist-to-fsdp-dtensor \/checkpoints\/runs\/old \/checkpoints\/runs\/new\.converting ?(.*?) ?--swiglu$/.exec(
        line,
      ) ?? [];
    expect([line, found]).toEqual([expect.stringContaining('--swiglu'), expect.stringMatching(groups)]);
  });

  it('passes Megatron-Bridge the directories, deletes the draft of a run before, and publishes by a rename that replaces nothing', async () => {
    const { steps } = await jobOf(...TO_HUGGING_FACE, '--reference', 'llama');
    mkdirSync(join(root, 'megatron/bridge'), { recursive: true });
    const fake = `import os
class AutoBridge:
    @classmethod
    def from_auto_config(cls, source, reference):
        print(source, reference)
        return cls()
    @staticmethod
    def import_ckpt(source, draft):
        print('imports', source, os.environ.get('GROUP'))
    def export_ckpt(self, source, draft, show_progress, strict):
        assert strict and not os.path.exists(draft)
        os.mkdir(draft)
        open(draft + '/made', 'w').close()
`;
    writeFileSync(join(root, 'megatron/bridge/__init__.py'), fake);
    mkdirSync(join(root, 'runs/new.converting/left'), { recursive: true });
    const context = `import contextlib, os
@contextlib.contextmanager
def temporary_distributed_context(backend):
    os.environ['GROUP'] = backend
    yield
`;
    mkdirSync(join(root, 'megatron/bridge/training'));
    writeFileSync(join(root, 'megatron/bridge/training/__init__.py'), '');
    writeFileSync(join(root, 'megatron/bridge/training/model_load_save.py'), context);
    const run = (step: Container | undefined): string => {
      const [python = '', ...args] = step?.command ?? [];
      const here = args.map((arg) => arg.replaceAll('/checkpoints', root));
      return execFileSync(python, here, { env: { ...process.env, PYTHONPATH: root }, encoding: 'utf8', stdio: 'pipe' });
    };
    expect(run(steps[1])).toBe(`${root}/runs/old ${root}/llama\n`);
    run(steps[3]);
    expect([readdirSync(join(root, 'runs')), readdirSync(join(root, 'runs/new'))]).toEqual([['new'], ['made']]);
    expect(run((await jobOf(...TO_BRIDGE)).steps[1])).toBe(`imports ${root}/runs/old gloo\n`);
    run(steps[1]);
    expect(() => run(steps[3])).toThrow(/OSError/);
    expect(readFileSync(join(root, 'runs/new/made'), 'utf8')).toBe('');
  });

  it.each<[what: string, argv: readonly string[], message: RegExp]>([
    [
      'a format that it does not write',
      ['a', 'b', '--to', 'dcp', '--converter', 'megatron-bridge', ...IN_JOB],
      /megatron-bridge does not write dcp\. It converts torch_dist to hugging-face, and/,
    ],
    [
      'all that is missing, at once',
      ['a', 's3://x/b', ...TO_HUGGING_FACE, '--job', 'x'],
      /no buckets[^]*--image\.\n[^]*--claim\.\n[^]*--memory\.[^]*--reference\.$/,
    ],
    [
      'GPUs for a converter on CPUs',
      ['a', 'b', ...TO_BRIDGE, '--gpus', '2', ...IN_JOB],
      /Megatron-Bridge converts on CPUs/,
    ],
    ['a target in the source', ['a', 'a/b', ...FSDP, ...IN_JOB], /one in the other/],
    ['a Job of no converter', ['a', 'b', '--to', 'dcp', '--job', 'x'], /Name it: --converter/],
    ['to run here', ['a', 'b', ...FSDP], /runs in the image of its engine\. Add --job NAME/],
    [
      'fsdp_dtensor without the converter',
      [join(MEGATRON, 'fully_reshardable'), 'b', '--to', 'fsdp_dtensor'],
      /is written by the converter of Megatron-LM alone/,
    ],
    [
      'a gate that is not stated',
      [join(MEGATRON, 'fully_reshardable'), 'b', ...FSDP, '--plan'],
      /linear_fc1\.weight has 32 rows, and linear_fc2 has 16 columns: its MLPs have a gate\. Add --swiglu/,
    ],
    [
      'buckets of the optimizer',
      [join(MEGATRON, 'dp_reshardable'), 'b', ...FSDP, '--swiglu', '--plan'],
      /writes its buckets as if they were weights\. Convert it with --to torch_dist --optimizer/,
    ],
    [
      'an export of a save of Megatron-LM',
      [join(MEGATRON, 'fully_reshardable'), 'b', ...TO_HUGGING_FACE, '--plan'],
      /It has no run_config\.yaml/,
    ],
    [
      'another format',
      [join(MEGATRON, '../dcp-2.15.0'), 'b', ...FSDP, '--plan'],
      /Its format is dcp, and the converter of megatron-lm makes fsdp_dtensor of torch_dist/,
    ],
  ])('refuses %s', async (_what, argv, message) => {
    const { code, err } = await convert(...argv);
    expect([code, err.trim()]).toEqual([1, expect.stringMatching(message)]);
    expect(existsSync('b')).toBe(false);
  });

  it('says with --plan that the converter takes the save', async () => {
    const { code, out } = await convert(join(MEGATRON, 'fully_reshardable'), 'b', ...FSDP, '--swiglu', '--plan');
    expect([code, out.trim()]).toEqual([
      0,
      expect.stringMatching(/\(torch_dist\) can be converted to fsdp_dtensor by megatron-lm\./),
    ]);
  });
});
