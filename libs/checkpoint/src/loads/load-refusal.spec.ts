import { aLayout } from '@coxswain/layout/testing';
import type { Checkpoint } from '@coxswain/api-types';
import { aCheckpoint } from '../testing/index.ts';
import { describeLoadRefusal } from './load-refusal.ts';
import { recordedSave } from './recorded-save.ts';

type Layout = Parameters<typeof aLayout>[0];

const tp2dp2 = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 });
const dp2 = aLayout({ dataParallelDegree: 2 });
const dp4 = aLayout({ dataParallelDegree: 4 });

describe('a checkpoint', () => {
  it.each<[string, string, readonly [saved: Layout, wanted: Layout], string | undefined]>([
    ['of PyTorch DCP is loaded by any layout', 'torch_dcp', [tp2dp2, dp2], undefined],
    ['of TorchTitan is loaded by any layout', 'dcp', [tp2dp2, dp2], undefined],
    ['of an unknown format is left to its engine', 'mine', [tp2dp2, dp2], undefined],
    ['of DeepSpeed is loaded by its own layout', 'deepspeed', [dp2, dp2], undefined],
    [
      'of DeepSpeed is not loaded by another number of replicas',
      'deepspeed',
      [dp2, dp4],
      'was saved as deepspeed with dataParallelDegree 2, and the layout has dataParallelDegree 4: go on with the layout that saved it, or convert it and set layout.checkpointPolicy.format to deepspeed-universal',
    ],
    [
      'of DeepSpeed that is converted is loaded by any layout',
      'deepspeed',
      [dp2, { dataParallelDegree: 4, checkpointPolicy: { format: 'deepspeed-universal' } }],
      undefined,
    ],
    ['of the Trainer is loaded by as many ranks', 'hugging-face', [dp4, tp2dp2], undefined],
    [
      'of the Trainer is not loaded by fewer ranks',
      'hugging-face',
      [dp4, dp2],
      'was saved as hugging-face with ranks 4, and the layout has ranks 2: go on with as many ranks as saved it',
    ],
    ['of Megatron-LM is loaded by other numbers of replicas', 'torch_dist', [dp2, dp4], undefined],
    [
      'of Megatron-LM is not loaded by other divisions of the model',
      'torch_dist',
      [tp2dp2, dp4],
      'was saved as torch_dist with tensorParallelDegree 2, and the layout has tensorParallelDegree 1: go on with the degrees that saved it, convert it ("coxswain checkpoint convert --optimizer fully_reshardable", models without experts), or save with layout.checkpointPolicy.optimizerReshard full before they change',
    ],
    [
      'of Megatron-LM that was saved for it is loaded by other divisions',
      'torch_dist',
      [{ tensorParallelDegree: 2, checkpointPolicy: { optimizerReshard: 'full' } }, dp2],
      undefined,
    ],
  ])('%s', (_sentence, format, [saved, wanted], want) => {
    expect(describeLoadRefusal({ format, layout: aLayout(saved) }, aLayout(wanted))).toBe(want);
  });

  const native = { format: 'deepspeed', facts: { optimizerSharding: 'zero2', degrees: { dataParallelDegree: 2 } } };
  const asking = aLayout({ dataParallelDegree: 4, checkpointPolicy: { format: 'deepspeed-universal' } });

  it('of DeepSpeed that was not converted is refused once a look beside it shows that', () => {
    expect(describeLoadRefusal(native, asking)).toBeUndefined();
    expect(describeLoadRefusal({ ...native, hasUniversal: false }, asking)).toMatch(/no universal checkpoint was made/);
  });

  it('of DeepSpeed counts as converted if its files show a converted copy, whatever its job said', () => {
    const recorded = aCheckpoint({ format: 'deepspeed', layout: aLayout(dp2) });
    const read = { ...recorded, status: { ...recorded.status, contents: { ...native.facts, hasUniversal: true } } };
    const saved = recordedSave(read as unknown as Checkpoint);
    expect([describeLoadRefusal(saved, asking), describeLoadRefusal(saved, aLayout(dp4))]).toEqual([
      undefined,
      expect.stringMatching(/a universal checkpoint was made from it: set layout\.checkpointPolicy\.format/),
    ]);
  });

  it('is judged by what its files say, if they were read, and not by the words of its job', () => {
    const recorded = aCheckpoint({ format: 'torch_dist', layout: aLayout({ tensorParallelDegree: 2 }) });
    const read = { ...recorded, status: { ...recorded.status, contents: { optimizerSharding: 'fully_reshardable' } } };
    const refusals = [recorded, read].map((checkpoint) =>
      describeLoadRefusal(recordedSave(checkpoint as Checkpoint), aLayout(dp2)),
    );
    expect(refusals).toEqual([
      expect.stringMatching(/^was saved as torch_dist with tensorParallelDegree 2/),
      undefined,
    ]);
  });
});
