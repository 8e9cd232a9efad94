import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJobFile } from '../job-files/job-file.ts';
import { runOffline, type OfflineOutcome } from '../testing/run-offline.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const PAGE = readFileSync(join(ROOT, 'docs/tasks/import-a-job.md'), 'utf8');
const EXAMPLE = join(ROOT, 'examples/import/train-job.yaml');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-import-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function aFile(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const run = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'import', ...argv);

describe('coxswain import', () => {
  it.each([
    [
      'pytorch-job',
      32,
      [
        'bash',
        '-c',
        'cd /workspace && exec python3 -u finetune.py --corpus /coxswain/data/books --save-to /coxswain/checkpoints',
      ],
    ],
    [
      'train-job',
      32,
      ['python3', '-u', '/workspace/pretrain.py', '--tensor-model-parallel-size', '8', '--tokens', '/coxswain/data'],
    ],
  ])('examples/import/%s.yaml becomes a file that submit takes', async (name, ranks, command) => {
    const out = join(directory, `${name}.yaml`);
    const { code } = await run(join(ROOT, `examples/import/${name}.yaml`), '--out', out);
    const { spec } = readJobFile(out, {});
    expect([code, spec.engine.command]).toEqual([0, command]);
    expect((spec.layout?.dataParallelDegree ?? 0) * (spec.layout?.tensorParallelDegree ?? 0)).toBe(ranks);
  });

  it('prints the job, and beside it what became of each field', async () => {
    const { code, out, err } = await run(EXAMPLE);
    expect([code, out.split('\n')[2]]).toEqual([0, 'apiVersion: training.coxswain.dev/v1alpha1']);
    expect(err).toMatch(/^Taken over \(7\)\n {2}metadata.name → name pretrain\n/);
    expect(err).toMatch(/\nNothing was submitted\. Lines with "▸" \(2\) are for you to check\.$/);
  });

  it('says what docs/tasks/import-a-job.md shows', async () => {
    const shown = /```console\n\$ coxswain import examples\/import\/train-job\.yaml --out job\.yaml\n([^]*?)```/.exec(
      PAGE,
    )?.[1];
    const out = join(directory, 'job.yaml');
    const { err } = await run(EXAMPLE, '--out', out);
    expect(`${err.replaceAll(out, 'job.yaml')}\n`).toBe(shown);
  });

  it.each<[string, string, RegExp]>([
    [
      'reads a file that a script names beside it',
      'distributed_type: FSDP\nnum_processes: 8\n',
      /→ engine\.env, layout\n/,
    ],
    ['names a file that it cannot parse', '{', /run coxswain import a\.yaml --program/],
  ])('%s', async (_what, text, line) => {
    aFile('a.yaml', text);
    const script = aFile('launch.sh', '#!/bin/bash\naccelerate launch --config_file a.yaml t.py\n');
    expect((await run(script, '--image', 'i:1')).err).toMatch(line);
  });

  it('prints both as data', async () => {
    const { out, err } = await runOffline({}, '-o', 'json', 'import', EXAMPLE);
    const { job, report } = JSON.parse(out) as { job: { name: string }; report: readonly object[] };
    expect([job.name, report[0], err]).toEqual([
      'pretrain',
      { outcome: 'taken', from: 'metadata.name', to: 'name pretrain' },
      '',
    ]);
  });

  it('name and image of the command line go before those of the file', async () => {
    const { out, err } = await run(EXAMPLE, '--name', 'mine', '--image', 'example.com/other:1');
    expect(out).toMatch(/name: mine .*\n[^]*image: example.com\/other:1 /);
    expect(err).toMatch(/metadata.name → name mine\n {6}set by --name/);
  });

  it('replaces no file unless it is told to', async () => {
    const there = aFile('there.yaml', 'mine');
    const refused = await run(EXAMPLE, '--out', there);
    expect([refused.code, refused.err]).toEqual([
      1,
      `${there} already exists and was not changed; choose another --out, or overwrite it with --force.`,
    ]);
    expect(readFileSync(there, 'utf8')).toBe('mine');
    expect((await run(EXAMPLE, '--out', there, '--force')).code).toBe(0);
    expect(readJobFile(there, {}).name).toBe('pretrain');
  });

  it.each<[string, () => readonly string[], RegExp]>([
    ['neither a file nor a line', () => [], /^Give either a file \(- is standard input\) or --torchrun LINE/],
    ['both', () => ['a.yaml', '--torchrun', 'torchrun a.py'], /either a file/],
    [
      'a file that is not there',
      () => [join(directory, 'none.yaml')],
      /^Cannot read .*none.yaml: there is no such file/,
    ],
    ['no YAML', () => [aFile('a.yaml', 'a: [')], /a.yaml: It is neither YAML, JSON nor TOML/],
    ['an empty file', () => [aFile('b.yaml', '')], /b.yaml: The file is empty; expected a PyTorchJob, /],
    [
      'anchors without end',
      () => [aFile('c.yaml', 'apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: &a {x: *a}\n')],
      /nested more than 64 levels/,
    ],
    [
      'an anchor that is not there',
      () => [aFile('e.yaml', 'apiVersion: *a\n')],
      /e.yaml: It cannot be read: Unresolved alias/,
    ],
    [
      'a RayJob',
      () => [aFile('d.yaml', 'apiVersion: ray.io/v1\nkind: RayJob\n')],
      /d.yaml: A ray.io\/v1 RayJob cannot be imported: /,
    ],
    [
      'a template of Helm',
      () => [
        aFile('f.yaml', 'kind: JobSet\nmetadata: { name: "{{ .Release.Name }}" }\nspec:\n  {{- if .Values.queue }}\n'),
      ],
      /Render it first: helm template CHART/,
    ],
    ['a script without ranks', () => [aFile('g.sh', '#!/bin/bash\necho hello\n')], /Recognised: a PyTorchJob, /],
    [
      'a runtime that is not needed',
      () => [aFile('h.yaml', 'base_model: x\n'), '--runtime-out', 'x'],
      /needs no runtime of its own/,
    ],
  ])('refuses %s', async (_what, argv, want) => {
    const { code, out, err } = await run(...argv());
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(want);
  });
});

describe('coxswain import --torchrun', () => {
  const line = (text: string, ...more: readonly string[]): Promise<OfflineOutcome> =>
    run('--torchrun', text, '--image', 'example.com/train:1', ...more);
  const jobOf = async (text: string, ...more: readonly string[]): Promise<unknown> => {
    const out = join(directory, 'line.yaml');
    const { err } = await line(text, '--out', out, '--force', ...more);
    expect(err).toMatch(/Nothing was submitted\./);
    return readJobFile(out, {});
  };

  it.each<[string, string, readonly string[], object]>([
    [
      'nodes and processes',
      'torchrun --nnodes 2 --nproc-per-node 8 train.py --x',
      [],
      {
        name: 'train',
        spec: {
          engine: { command: ['python3', '-u', 'train.py', '--x'] },
          layout: { dataParallelDegree: 16 },
          resources: { gpusPerNode: 8 },
        },
      },
    ],
    ['one process, which is the default', 'torchrun train.py', [], { spec: { layout: { dataParallelDegree: 1 } } }],
    ['the most of a range', 'torchrun --nnodes=1:4 train.py', [], { spec: { layout: { dataParallelDegree: 4 } } }],
    [
      'as many as the option says',
      'torchrun --nproc-per-node gpu train.py',
      ['--gpus-per-node', '4'],
      { spec: { resources: { gpusPerNode: 4 } } },
    ],
    [
      'variables before it',
      'CUDA_VISIBLE_DEVICES=0 A=b NCCL_DEBUG="INFO" torchrun train.py',
      [],
      {
        spec: {
          engine: {
            env: [
              { name: 'A', value: 'b' },
              { name: 'NCCL_DEBUG', value: 'INFO' },
            ],
          },
        },
      },
    ],
    ['restarts', 'torchrun --max-restarts 5 train.py', [], { spec: { restartPolicy: { maxRestarts: 5 } } }],
    ['a module, and its name', 'python -m torch.distributed.run -m my_pkg.train', [], { name: 'my-pkg-train' }],
    [
      'degrees of Megatron',
      'torchrun --nproc-per-node 8 p.py --tensor-model-parallel-size 4',
      [],
      { spec: { layout: { tensorParallelDegree: 4, dataParallelDegree: 2 } } },
    ],
    ['a name', 'torchrun train.py', ['--name', 'mine'], { name: 'mine' }],
  ])('keeps %s', async (_what, text, more, want) => {
    expect(await jobOf(text, ...more)).toMatchObject(want);
  });

  it.each<[string, string, RegExp]>([
    ['another program', 'python train.py', /does not begin with torchrun/],
    ['two commands', 'cd /x && torchrun train.py', /must be one command/],
    ['a variable of a shell', 'torchrun --nnodes $NODES train.py', /\$NODES stands for what a shell makes of it/],
    ['a number of nodes that is none', 'torchrun --nnodes many train.py', /--nnodes is "many"/],
    [
      'processes that depend on the node',
      'torchrun --nproc-per-node auto train.py',
      /give the number with --gpus-per-node/,
    ],
    ['more processes than a pod can have', 'torchrun --nproc-per-node 64 train.py', /at most 16 ranks/],
    ['restarts that are none', 'torchrun --max-restarts=x train.py', /--max-restarts is "x"/],
    ['a password', 'DB_PASSWORD=x torchrun train.py', /^the line: The variable DB_PASSWORD looks like a credential/],
    ['no program', 'torchrun', /no program to start/],
  ])('refuses %s', async (_what, text, want) => {
    const { code, err } = await line(text);
    expect([code, err]).toEqual([1, expect.stringMatching(want)]);
  });

  it('needs an image', async () => {
    expect((await run('--torchrun', 'torchrun train.py')).err).toMatch(
      /give the one that has the program with --image/,
    );
  });
});
