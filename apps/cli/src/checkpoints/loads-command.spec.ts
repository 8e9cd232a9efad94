import type { LoadVerdict } from '@coxswain/checkpoint';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures');
const save = (sharding: string): string => join(FIXTURES, 'megatron-core-0.16.1', sharding);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-loads-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Asks whether a layout loads a save; `layout` is what its file holds. */
function loads(directory: string, layout: object, ...argv: readonly string[]): Promise<OfflineOutcome> {
  const file = join(folder, 'layout.json');
  writeFileSync(file, JSON.stringify(layout));
  return runOffline({}, 'checkpoint', 'loads', directory, '--layout', file, ...argv);
}

const ROLES = {
  roles: { actor: { layout: { tensorParallelDegree: 4 } } },
  meshes: { all: { gpusPerNode: 8, segments: [{ nodes: 1, gpu: 'h100', network: 'infiniband' }] } },
  roleMesh: { actor: 'all' },
};
const tp1 = { tensorParallelDegree: 1, dataParallelDegree: 2 };

describe('checkpoint loads', () => {
  it('ends with 0 if the engine divides the state anew, and says what is lost', async () => {
    const { out, code } = await loads(save('fully_reshardable'), tp1);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^Verdict +engine reshards\nBecause +it was saved as torch_dist \(optimizer fully_reshardable\)/,
    );
    expect(out).toMatch(/\nBased on +its files\nWarning +Megatron-LM stores random states by tensor and pipeline rank/);
  });

  it('ends with 1 if the layout cannot load it, and says what to do', async () => {
    const { out, code } = await loads(save('dp_reshardable'), tp1);
    expect([code, out]).toEqual([1, expect.stringMatching(/^Verdict +cannot\n.*go on with the degrees that saved it/)]);
  });

  it('warns a job that may shrink while its optimizer does not allow it', async () => {
    const { out, code } = await loads(save('dp_reshardable'), { tensorParallelDegree: 2 }, '--can-shrink');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Verdict +loads as is\n[^]*\nWarning +The job can shrink/)]);
  });

  it('names tool, bytes and time of a conversion, in JSON too', async () => {
    const layout = { tensorParallelDegree: 2, states: { implementation: 'megatron-fsdp' } };
    const { out, code } = await loads(save('dp_reshardable'), layout);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/\nTool +tools\/checkpoint\/.*\nCost +.*1\.0 s at 350\.0 MiB\/s/),
    ]);
    const { out: json } = await loads(save('dp_reshardable'), layout, '--output', 'json');
    expect((JSON.parse(json) as LoadVerdict).conversion).toMatchObject({ seconds: 1 });
  });

  it.each<[what: string, argv: readonly [string, object, ...string[]], reason: RegExp]>([
    ['a directory without a save', [FIXTURES, tp1], /holds no checkpoint of a known format/],
    ['a file that is no layout', [save('dp_reshardable'), { tensorParallelDegree: 0 }], /is not a valid layout/],
    ['layouts of several roles', [save('dp_reshardable'), ROLES], /Give the layout of the role/],
    [
      'an engine that does not exist',
      [save('dp_reshardable'), tp1, '--engine', 'megatron'],
      /there is no engine megatron/,
    ],
    [
      'a release that does not exist',
      [save('dp_reshardable'), tp1, '--engine', 'megatron-lm@1'],
      /megatron-lm has no release 1 here\. Releases are core_v/,
    ],
  ])('refuses %s', async (_what, argv, reason) => {
    const { err, code } = await loads(...argv);
    expect([code, err]).toEqual([1, expect.stringMatching(reason)]);
  });

  it.each([
    ['a save', 'zero1/global_step2', 0, /^Verdict +(?:loads as is|engine reshards)\n/],
    ['a folder of saves', 'zero1', 0, /^Verdict +(?:loads as is|engine reshards)\n/],
    ['a folder of saves without one', 'experts', 0, /^Verdict +needs conversion\n/],
  ])('finds the universal checkpoint beside %s of DeepSpeed', async (_what, directory, want, verdict) => {
    const layout = { dataParallelDegree: 4, checkpointPolicy: { format: 'deepspeed-universal' } };
    const { out, code } = await loads(join(FIXTURES, 'deepspeed-0.19.8', directory), layout);
    expect([code, out]).toEqual([want, expect.stringMatching(verdict)]);
  });

  it('takes the engine of the layout file', async () => {
    const { out, code } = await loads(save('dp_reshardable'), {
      engine: { name: 'torchtitan' },
      layout: { tensorParallelDegree: 2 },
    });
    expect([code, out]).toEqual([1, expect.stringMatching(/torchtitan does not load that format/)]);
  });
});
