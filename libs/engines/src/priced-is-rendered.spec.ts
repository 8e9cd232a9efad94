/** What is priced is what is rendered: over every engine and release, with layouts that set or leave out each priced fact. */
import { ENGINE_NAMES, type EngineName } from '@coxswain/api-types';
import type { RenderedEngine } from './rendering.ts';
import { type Comparable, comparablesOf } from './testing/priced-cases.ts';
import { renderedFacts } from './testing/rendered-facts.ts';

/** What is priced of the facts that the rendered form decides, beside these. */
function bothOf(engine: EngineName, { priced, run }: Comparable): readonly [object, object] {
  const read = renderedFacts(engine, run);
  const names = Object.keys(read) as (keyof typeof read)[];
  return [Object.fromEntries(names.map((name) => [name, priced[name]])), read];
}

describe.each(ENGINE_NAMES.filter((name) => !['reference', 'command', 'custom'].includes(name)))('%s', (engine) => {
  it('runs with the facts that are priced', () => {
    const all = comparablesOf(engine);
    expect(all.length).toBeGreaterThan(10);
    for (const one of all) {
      const [priced, read] = bothOf(engine, one);
      expect({ what: one.what, ...priced }).toEqual({ what: one.what, ...read });
    }
  });
});

type Drift = (run: RenderedEngine) => RenderedEngine;

const withoutFlag =
  (flag: string): Drift =>
  (run) => ({ ...run, command: run.command.filter((word) => word !== flag) });

const inFile =
  (path: RegExp, from: RegExp, to: string): Drift =>
  (run) => ({
    ...run,
    files: run.files.map((file) => (path.test(file.path) ? { ...file, text: file.text.replace(from, to) } : file)),
  });

describe('a renderer that drifts from the price is found', () => {
  it.each<[EngineName, string, Drift]>([
    ['megatron-lm', 'it forgets to overlap the reduction of gradients', withoutFlag('--overlap-grad-reduce')],
    ['megatron-lm', 'it reduces gradients in fp32 where bf16 is priced', withoutFlag('--grad-reduce-in-bf16')],
    ['megatron-lm', 'it forgets to put the optimizer on the host', withoutFlag('--optimizer-cpu-offload')],
    [
      'megatron-bridge',
      'it writes another format of gradients',
      inFile(/megatron-bridge\.json$/, /"grad_reduce_in_fp32": ?true/, '"grad_reduce_in_fp32": false'),
    ],
    [
      'megatron-bridge',
      'it leaves the share of the optimizer on the host to the default of Megatron-Bridge',
      inFile(/megatron-bridge\.json$/, /"optimizer\.optimizer_offload_fraction": ?1,/, ''),
    ],
    [
      'torchtitan',
      'its file leaves recomputation to the default of TorchTitan',
      inFile(/\.toml$/, /^mode = "none"$/m, ''),
    ],
    [
      'torchtitan',
      'its module recomputes all where nothing is priced',
      inFile(/torchtitan\.json$/, /"mode": ?"none"/, '"mode": "full"'),
    ],
    ['deepspeed', 'it writes stage 1 for stage 2', inFile(/deepspeed\.json$/, /"stage": ?2/, '"stage": 1')],
    ['deepspeed', 'it leaves gradients in bf16', inFile(/deepspeed\.json$/, /"grad_accum_dtype": ?"fp32"/, '"x": 1')],
    [
      'deepspeed',
      'it leaves the optimizer on the GPU',
      inFile(/deepspeed\.json$/, /"offload_optimizer"/, '"offload_optimiser"'),
    ],
    ['hugging-face', 'it writes stage 3 for stage 2', inFile(/deepspeed\.json$/, /"stage": ?2/, '"stage": 3')],
  ])('%s: %s', (engine, _what, drift) => {
    const drifted = comparablesOf(engine).flatMap((one) => {
      const run = drift(one.run);
      return JSON.stringify(run) === JSON.stringify(one.run) ? [] : [{ ...one, run }];
    });
    expect(drifted.length).toBeGreaterThan(0);
    for (const one of drifted) {
      const [priced, read] = bothOf(engine, one);
      expect({ what: one.what, ...priced }).not.toEqual({ what: one.what, ...read });
    }
  });
});
