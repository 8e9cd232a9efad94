import { aLayout } from '@coxswain/layout/testing';
import { judgeLoad, type LoadVerdict } from './judge-load.ts';
import type { KnownSave, LoadTarget } from './known-save.ts';

type Layout = Parameters<typeof aLayout>[0];

/** What files of Megatron-LM at tensor-parallel 2 and data-parallel 4 say. */
const megatron = (facts: KnownSave['facts'] = {}, save: Partial<KnownSave> = {}): KnownSave => ({
  format: 'torch_dist',
  facts: {
    optimizerSharding: 'dp_reshardable',
    worldSize: 8,
    degrees: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 4 },
    holds: { optimizer: true, randomStates: true },
    ...facts,
  },
  ...save,
});

/** What files of DeepSpeed at data-parallel 2 say. */
const deepspeed = (facts: KnownSave['facts'] = {}, save: Partial<KnownSave> = {}): KnownSave => ({
  format: 'deepspeed',
  facts: { optimizerSharding: 'zero2', worldSize: 2, degrees: { dataParallelDegree: 2 }, ...facts },
  ...save,
});

const dcp = (holds: NonNullable<KnownSave['facts']>['holds'] = {}): KnownSave => ({
  format: 'dcp',
  facts: { degrees: { tensorParallelDegree: 1, dataParallelDegree: 4 }, holds },
});

const target = (layout: Layout, more: Partial<LoadTarget> = {}): LoadTarget => ({ layout: aLayout(layout), ...more });

const tp2dp4 = target({ tensorParallelDegree: 2, dataParallelDegree: 4 });
const tp2dp2 = target({ tensorParallelDegree: 2, dataParallelDegree: 2 });
const tp4dp2 = target({ tensorParallelDegree: 4, dataParallelDegree: 2 });
const pp2 = target({ tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 2 });
const dp2 = target({ dataParallelDegree: 2 });
const dp4 = target({ dataParallelDegree: 4 });
const universal = (dataParallelDegree: number): LoadTarget =>
  target({ dataParallelDegree, checkpointPolicy: { format: 'deepspeed-universal' } });
const DELAYED = { precision: 'fp8', scaling: 'delayed' } as const;
const fsdp = target({ tensorParallelDegree: 2, dataParallelDegree: 4, states: { implementation: 'megatron-fsdp' } });

describe('a save', () => {
  it.each<
    [what: string, saved: KnownSave, target: LoadTarget, want: readonly [LoadVerdict['verdict'], because: RegExp]]
  >([
    [
      'of torch_dist goes with its own degrees',
      megatron(),
      tp2dp4,
      ['loads as is', /^was saved as torch_dist \(optimizer dp_reshardable\) at the degrees of the layout/],
    ],
    [
      'that is dp_reshardable goes with other replicas',
      megatron(),
      tp2dp2,
      ['engine reshards', /dataParallelDegree 4, and the layout has dataParallelDegree 2: /],
    ],
    [
      'that is dp_reshardable goes with no other tensor degree',
      megatron(),
      tp4dp2,
      ['cannot', /tensorParallelDegree 2, and the layout has tensorParallelDegree 4: go on with/],
    ],
    [
      'that is dp_reshardable goes with no other pipeline degree',
      megatron(),
      pp2,
      ['cannot', /pipelineParallelDegree 1, and the layout has pipelineParallelDegree 2/],
    ],
    [
      'that is dp_reshardable goes with no other virtual pipeline',
      megatron({ degrees: { tensorParallelDegree: 2, dataParallelDegree: 4, 'pipeline.chunksPerRank': 2 } }),
      tp2dp4,
      ['cannot', /pipeline\.chunksPerRank 2, and the layout has pipeline\.chunksPerRank 1/],
    ],
    [
      'that is fully_reshardable goes with another tensor degree',
      megatron({ optimizerSharding: 'fully_reshardable' }),
      tp4dp2,
      ['engine reshards', /divides its optimizer anew/],
    ],
    [
      'whose optimizer is not sharded goes with another tensor degree',
      megatron({ optimizerSharding: 'unsharded' }),
      tp4dp2,
      ['engine reshards', /divides its optimizer anew/],
    ],
    [
      'that is dp_reshardable stays so, whatever its job states',
      megatron({}, { layout: aLayout({ tensorParallelDegree: 2, checkpointPolicy: { optimizerReshard: 'full' } }) }),
      tp4dp2,
      ['cannot', /optimizer dp_reshardable/],
    ],
    [
      'that is fully_reshardable stays so, whatever its job states',
      megatron({ optimizerSharding: 'fully_reshardable' }, { layout: aLayout({ tensorParallelDegree: 2 }) }),
      tp4dp2,
      ['engine reshards', /divides its optimizer anew/],
    ],
    [
      'of an old release of Megatron-Core goes through release 0.15',
      megatron({ optimizerSharding: 'fully_sharded_model_space' }),
      tp2dp4,
      ['needs conversion', /refuse its optimizer/],
    ],
    [
      'of an old release of Megatron-Core goes with release 0.15',
      megatron({ optimizerSharding: 'fully_sharded_model_space' }),
      { ...tp4dp2, engine: 'megatron-lm', release: 'core_v0.15.3' },
      ['engine reshards', /divides its optimizer anew/],
    ],
    [
      'that is not whole goes with no layout',
      megatron({}, { problem: 'File __1_0.distcp is not there.' }),
      tp2dp4,
      ['cannot', /and is not whole: File __1_0\.distcp is not there$/],
    ],
    [
      'of torch_dist is converted for Megatron-FSDP',
      megatron(),
      fsdp,
      ['needs conversion', /which loads fsdp_dtensor: convert it/],
    ],
    [
      'of fsdp_dtensor goes with other degrees',
      { ...megatron(), format: 'fsdp_dtensor' },
      tp4dp2,
      ['engine reshards', /divides its tensors anew/],
    ],
    [
      'of fsdp_dtensor does not go with the distributed optimizer',
      { ...megatron(), format: 'fsdp_dtensor' },
      target({ tensorParallelDegree: 2, states: { implementation: 'distributed-optimizer' } }),
      ['cannot', /no tool converts it to torch_dist/],
    ],
    ['of DCP goes with its own degrees', dcp(), dp4, ['loads as is', /at the degrees of the layout/]],
    ['of DCP goes with any degrees', dcp(), tp4dp2, ['engine reshards', /stored by name/]],
    ['of DeepSpeed goes with its own degrees', deepspeed(), dp2, ['loads as is', /file of its position/]],
    [
      'of DeepSpeed is converted for others',
      deepspeed(),
      dp4,
      ['needs conversion', /dataParallelDegree 2, and the layout has dataParallelDegree 4: go on/],
    ],
    [
      'of DeepSpeed that is not converted does not pass for converted',
      deepspeed(),
      universal(4),
      ['needs conversion', /no universal checkpoint was made from it/],
    ],
    [
      'of DeepSpeed with a converted copy goes with any layout that asks for it',
      deepspeed({}, { hasUniversal: true }),
      universal(4),
      ['engine reshards', /loads the universal checkpoint/],
    ],
    [
      'of DeepSpeed with a converted copy does not go with a layout that does not ask',
      deepspeed({}, { hasUniversal: true }),
      dp4,
      ['cannot', /set layout\.checkpointPolicy\.format to deepspeed-universal/],
    ],
    [
      'of DeepSpeed that is universal goes with any layout that asks for it',
      deepspeed({ optimizerSharding: 'universal' }),
      universal(4),
      ['engine reshards', /its part of each parameter/],
    ],
    [
      'in the universal format goes with DeepSpeed and any layout that asks for it',
      { format: 'deepspeed-universal', facts: { optimizerSharding: 'universal' } },
      { ...universal(4), engine: 'deepspeed' },
      ['loads as is', /its part of each parameter/],
    ],
    [
      'in the universal format does not go with a layout that does not ask',
      { format: 'deepspeed-universal' },
      { ...dp2, engine: 'deepspeed' },
      ['cannot', /it is converted: set/],
    ],
    [
      'of DeepSpeed that is universal does not go with a layout that does not ask',
      deepspeed({ optimizerSharding: 'universal' }),
      dp2,
      ['cannot', /it is converted: set/],
    ],
    [
      'in the universal format of DeepSpeed goes with DeepSpeed',
      deepspeed({ optimizerSharding: 'universal' }, { format: 'deepspeed-universal' }),
      { ...universal(4), engine: 'deepspeed' },
      ['engine reshards', /its part of each parameter/],
    ],
    [
      'in the universal format of DeepSpeed does not go with a layout that does not ask',
      { format: 'deepspeed-universal' },
      { ...dp2, engine: 'deepspeed' },
      ['cannot', /it is converted: set layout\.checkpointPolicy\.format/],
    ],
    [
      'in the universal format of DeepSpeed goes with no other engine',
      { format: 'deepspeed-universal' },
      { ...universal(4), engine: 'megatron-lm' },
      ['cannot', /does not load that format: go on with deepspeed/],
    ],
    [
      'whose degrees nothing says is not called one of the degrees of the layout',
      { format: 'dcp' },
      tp4dp2,
      ['loads as is', /^was saved as dcp: its tensors are stored by name/],
    ],
    [
      'of the Trainer goes with as many ranks',
      { format: 'hugging-face', facts: { worldSize: 4 } },
      dp4,
      ['loads as is', /finds its random states/],
    ],
    [
      'of the Trainer does not go with fewer ranks',
      { format: 'hugging-face', facts: { worldSize: 4 } },
      dp2,
      ['cannot', /ranks 4, and the layout has ranks 2/],
    ],
    [
      'of safetensors goes with any layout',
      { format: 'safetensors' },
      tp4dp2,
      ['loads as is', /its part of the weights/],
    ],
    ...(['hugging-face', 'deepspeed'] as const).map(
      (engine): [string, KnownSave, LoadTarget, [LoadVerdict['verdict'], RegExp]] => [
        `of safetensors goes with a start of ${engine}`,
        { format: 'safetensors' },
        { ...dp2, engine },
        ['loads as is', /its part of the weights/],
      ],
    ),
    [
      'of Megatron’s legacy format is converted for other degrees',
      { ...megatron(), format: 'legacy' },
      tp4dp2,
      ['needs conversion', /its optimizer is lost/],
    ],
    ['of an unknown format is left to its engine', { format: 'mine' }, dp2, ['loads as is', /its engine decides/]],
    [
      'is refused by an engine that does not load its format',
      megatron(),
      { ...tp2dp4, engine: 'torchtitan' },
      ['cannot', /torchtitan does not load that format: go on with megatron-lm or megatron-bridge/],
    ],
    [
      'of safetensors is converted for Megatron-LM',
      { format: 'safetensors' },
      { ...dp2, engine: 'megatron-lm' },
      ['needs conversion', /convert it to torch_dist/],
    ],
    [
      'is left to a program of the user',
      megatron(),
      { ...tp2dp4, engine: 'custom' },
      ['loads as is', /at the degrees of the layout/],
    ],
    [
      'whose files name no degrees follows the record of its job',
      { format: 'torch_dist', facts: {}, layout: aLayout({ tensorParallelDegree: 2 }) },
      dp2,
      ['cannot', /tensorParallelDegree 2, and the layout has tensorParallelDegree 1/],
    ],
  ])('%s', (_what, saved, wanted, [verdict, because]) => {
    const found = judgeLoad(saved, wanted);
    expect([found.verdict, found.because]).toEqual([verdict, expect.stringMatching(because)]);
  });
});

describe('a verdict', () => {
  it.each<[what: string, saved: KnownSave, basis: LoadVerdict['basis']]>([
    ['rests on files that name degrees', dcp(), 'files'],
    ['rests on files that name the number of ranks', { format: 'hugging-face', facts: { worldSize: 4 } }, 'files'],
    ['rests on the record if files name neither', { format: 'dcp', facts: { holds: {} } }, 'record'],
  ])('%s', (_what, saved, basis) => {
    expect(judgeLoad(saved, dp4).basis).toBe(basis);
  });
});

describe('what a load loses is said before', () => {
  it.each<[what: string, saved: KnownSave, target: LoadTarget, warning: RegExp | undefined]>([
    [
      'random states that Megatron-LM drops',
      megatron({ optimizerSharding: 'fully_reshardable' }),
      tp4dp2,
      /drops them if tensorParallelDegree changes/,
    ],
    ['random states that a save does not hold', dcp({ randomStates: false }), dp4, /generators are seeded anew/],
    [
      'the position in the data, if it is stored by rank',
      dcp({ dataLoader: true }),
      dp2,
      /stored for 4 data-parallel ranks, and 2 go on/,
    ],
    ['weights without an optimizer', dcp({ optimizer: false }), dp4, /moments of 0/],
    ['weights alone', { format: 'safetensors', facts: {} }, dp4, /holds weights alone/],
    [
      'rows of the vocabulary',
      megatron({
        optimizerSharding: 'fully_reshardable',
        vocabulary: { rows: 50_432, words: 50_257, multipleOf: 128 },
      }),
      target({ tensorParallelDegree: 1, dataParallelDegree: 4 }),
      /pads the vocabulary to 50304 rows at tensorParallelDegree 1, and 50432 are stored/,
    ],
    [
      'a job that may shrink from dp_reshardable',
      megatron(),
      { ...tp2dp4, canShrink: true },
      /Save one checkpoint with .*optimizerReshard full before/,
    ],
    [
      'other buckets of more than 40 ranks',
      megatron(),
      target({ tensorParallelDegree: 2, dataParallelDegree: 64 }),
      /set --ddp-bucket-size/,
    ],
    [
      'a conversion that only the layout states',
      { format: 'deepspeed', layout: aLayout({ dataParallelDegree: 2 }) },
      universal(4),
      /Nothing shows that .*ds_to_universal has run/,
    ],
    [
      'files that say no degrees',
      { format: 'dcp', layout: aLayout({ dataParallelDegree: 2 }) },
      dp2,
      /Its files say no degrees: this follows/,
    ],
    [
      'scales of fp8, if the layout that saved it had no delayed scaling',
      megatron({}, { layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4 }) }),
      target({ tensorParallelDegree: 2, dataParallelDegree: 4, kernel: DELAYED }),
      /kernel\.scaling delayed\), and the layout that saved it has no delayed scaling: the history begins empty/,
    ],
    [
      'scales of fp8 that a format does not store',
      { format: 'safetensors', facts: {} },
      target({ kernel: DELAYED }),
      /and safetensors stores none: the history begins empty/,
    ],
    [
      'nothing of fp8, if both layouts have delayed scaling',
      megatron({}, { layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4, kernel: DELAYED }) }),
      target({ tensorParallelDegree: 2, dataParallelDegree: 4, kernel: DELAYED }),
      undefined,
    ],
    ['nothing, if nothing is lost', megatron(), tp2dp4, undefined],
  ])('%s', (_what, saved, wanted, warning) => {
    const { warnings } = judgeLoad(saved, wanted);
    expect(warnings.length === 0 ? undefined : warnings.join(' ')).toEqual(
      warning === undefined ? undefined : expect.stringMatching(warning),
    );
  });
});

it.each<[what: string, saved: KnownSave, target: LoadTarget, note: RegExp | undefined]>([
  [
    'fewer replicas',
    megatron(),
    tp2dp2,
    /a rank sums 4\/2 times as many micro-batches a step, because dataParallelDegree 4 becomes 2/,
  ],
  ['more replicas, after a conversion', deepspeed(), dp4, /a rank sums 2\/4 times as many/],
  [
    'the same replicas',
    megatron({ optimizerSharding: 'fully_reshardable' }),
    target({ tensorParallelDegree: 1, dataParallelDegree: 4 }),
    undefined,
  ],
])('a verdict says whether gradient accumulation changes: %s', (_what, saved, wanted, note) => {
  expect(judgeLoad(saved, wanted).notes).toEqual(note === undefined ? [] : [expect.stringMatching(note)]);
});

it('a conversion has its tool, its bytes and an estimate of its seconds', () => {
  expect(judgeLoad(deepspeed({}, { bytes: 3.5e9 }), dp4).conversion).toEqual({
    tool: 'python -m deepspeed.checkpoint.ds_to_universal',
    kind: 'DeepSpeedUniversal',
    bytes: 3.5e9,
    seconds: 10,
    bytesPerSecond: 350 * 2 ** 20,
    isStated: false,
  });
});

it('a verdict says whether files or the record of the job decided', () => {
  const recorded = { format: 'dcp', layout: aLayout({ dataParallelDegree: 2 }) };
  expect([judgeLoad(dcp(), dp2).basis, judgeLoad(recorded, dp2).basis]).toEqual(['files', 'record']);
});
