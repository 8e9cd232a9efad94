import type { RunFacts } from '@coxswain/planner';
import { MOE, runOf } from '../testing/invented-rows.ts';

describe('recipes of Megatron-Bridge', () => {
  const features = ({ candidate }: RunFacts): unknown => [
    candidate.dispatcher,
    candidate.cudaGraphs,
    candidate.overlapExpert,
  ];
  const moe = { ...MOE, tp: '1', pp: '1', dp: '64', gpus: '64', ep: '64', gbs: '1024' };
  const interleaved = { pp: '2', vpp: '4', dp: '32', ep: '32' };
  const of = (release: string): Record<string, string> => ({
    engine: `Megatron-Bridge/MCore (NeMo container ${release})`,
  });
  const nvl72 = { gpu: 'GB200-NVL72', gpus_per_node: '4', precision: 'mxfp8' };
  const h100 = { gpu: 'H100-SXM5-80GB', precision: 'bf16' };

  it.each<[string, Record<string, string>, unknown]>([
    ['of another engine: nothing is assumed', { ...nvl72, engine: 'NeMo 25.04' }, ['alltoall', 'none', false]],
    ['mid-2026 in MXFP8', { ...nvl72, ...of('26.06') }, ['hybridep', 'full', true]],
    ['mid-2026 in bf16', { ...nvl72, ...of('26.06'), precision: 'bf16' }, ['hybridep', 'none', false]],
    ['early 2026 on NVL72', { ...nvl72, ...of('26.02') }, ['hybridep', 'partial', false]],
    ['early 2026 elsewhere, interleaved', { ...h100, ...of('26.02'), ...interleaved }, ['hybridep', 'none', true]],
    ['2025 on NVL72', { ...nvl72, ...of('25.11') }, ['hybridep', 'partial', false]],
    ['2025 between Hopper nodes', { ...h100, ...of('25.09'), ...interleaved }, ['deepep', 'none', true]],
    ['2025 inside a Hopper node', { ...h100, ...of('25.09'), ep: '8' }, ['alltoall', 'none', false]],
    ['that drop tokens', { ...h100, ...of('25.09'), notes: 'tokendrop' }, ['alltoall', 'none', false]],
    [
      'whose options were printed',
      { ...nvl72, ...of('26.06'), notes: 'x (layout-matched)' },
      ['alltoall', 'none', false],
    ],
    [
      'that say otherwise',
      { ...nvl72, ...of('26.06'), notes: 'dispatcher=deepep; EP overlap off; CUDA graphs off' },
      ['deepep', 'none', false],
    ],
  ])('%s', (_, change, expected) => {
    expect(features(runOf({ ...moe, ...change }))).toEqual(expected);
  });

  const undated = { engine: 'Megatron-Bridge/MCore (2026)', ...h100 };
  const small = { gpus: '16', tp: '1', dp: '16', ep: '16', pp: '1' };

  it.each<[string, Record<string, string>, unknown]>([
    [
      'Moonlight on eight GPUs: all-to-all, unbalanced, and garbage collected every five steps',
      {
        ...undated,
        ...small,
        model: 'Moonlight-16B-A3B',
        gpus: '8',
        tp: '2',
        dp: '4',
        ep: '8',
        experts: '64',
        topk: '6',
      },
      ['alltoall', 'none', false, undefined, 5, false],
    ],
    [
      'Moonlight on sixteen: HybridEP, overlapped',
      { ...undated, ...small, model: 'Moonlight-16B-A3B', ep: '8', experts: '64', topk: '6' },
      ['hybridep', 'none', true, undefined, 5, false],
    ],
    [
      'Qwen3-30B-A3B: HybridEP and graphs of the router',
      { ...undated, ...small, notes: 'balanced routing' },
      ['hybridep', 'partial', false, true, undefined, true],
    ],
    [
      'the canonical one, which overlaps besides',
      { ...undated, ...small, notes: 'canonical recipe; balanced routing' },
      ['hybridep', 'partial', true, true, undefined, true],
    ],
    [
      'one whose router was left alone',
      { ...undated, ...small, notes: 'natural routing' },
      ['hybridep', 'partial', false, undefined, undefined, true],
    ],
  ])('for Hopper: %s', (_, change, expected) => {
    const run = runOf({ ...moe, ...change });
    const { balancedRouting, stepsPerCollection, candidate } = run;
    expect([...(features(run) as []), balancedRouting, stepsPerCollection, candidate.overlapTensor]).toEqual(expected);
  });

  it('for Hopper: hybrids in graphs of attention and mixers, not of the router', () => {
    const sizes = { layers: '', hidden: '', heads: '', kv_heads: '', ffn_hidden: '', vocab: '', experts: '', topk: '' };
    const run = runOf({ ...moe, ...undated, ...small, ...sizes, ep: '8', model: 'Nemotron-3-Nano-30B-A3B' });
    expect([run.candidate.cudaGraphs, run.candidate.graphedParts]).toEqual(['partial', ['attention', 'stateSpace']]);
  });

  it.each<[string, Record<string, string>, boolean]>([
    ['Nemotron 3 Super', { ...nvl72, model: 'Nemotron-3-Super-120B-A12B' }, false],
    ['DeepSeek-V3', { ...h100, model: 'DeepSeek-V3' }, false],
    ['Qwen3-235B-A22B on Hopper', { ...h100, model: 'Qwen3-235B-A22B' }, false],
    ['Qwen3-235B-A22B elsewhere', { ...nvl72, model: 'Qwen3-235B-A22B' }, true],
    ['any other', { ...h100, model: 'Mixtral-8x7B' }, true],
  ])('of %s overlap tensor traffic: %j', (_, change, expected) => {
    const sizes = { layers: '', hidden: '', heads: '', kv_heads: '', ffn_hidden: '', vocab: '', experts: '', topk: '' };
    const split = { tp: '2', dp: '32', ep: '8' };
    expect(runOf({ ...moe, ...of('26.04'), ...sizes, ...split, ...change }).candidate.overlapTensor).toBe(expected);
  });

  it.each([
    ['a table of Megatron-Bridge', { ...of('26.04') }, true],
    ['a note that says so', { engine: 'NeMo 25.04', notes: 'router force-balanced, dropless' }, true],
    ['nothing of the kind', { engine: 'NeMo 25.04' }, undefined],
  ])('spread tokens evenly by %s', (_, change, expected) => {
    expect(runOf({ ...moe, ...h100, ...change }).balancedRouting).toBe(expected);
  });

  it('hold hybrids in partial graphs and give the large ones two passes of multi-token prediction', () => {
    const sizes = { layers: '', hidden: '', heads: '', kv_heads: '', ffn_hidden: '', vocab: '', experts: '', topk: '' };
    const run = runOf({ ...moe, ...nvl72, ...of('26.06'), ...sizes, model: 'Nemotron-3-Super-120B-A12B' });
    expect([run.candidate.cudaGraphs, run.model.mtpLayers]).toEqual(['partial', 2]);
  });

  it.each([
    ['Nemotron 3 Super in NVFP4', {}, { attention: true, layersShare: 14 / 88 }],
    ['it in MXFP8', { precision: 'mxfp8' }, undefined],
    ['it by another engine', { engine: 'NeMo 25.04' }, undefined],
    ['another model in NVFP4', { model: 'Nemotron-3-Nano-30B-A3B', ep: '8' }, undefined],
  ])('keep in bf16 of %s what they do not quantise', (_, change, expected) => {
    const sizes = { layers: '', hidden: '', heads: '', kv_heads: '', ffn_hidden: '', vocab: '', experts: '', topk: '' };
    const row = { ...moe, ...nvl72, ...of('26.04'), ...sizes, model: 'Nemotron-3-Super-120B-A12B', precision: 'nvfp4' };
    expect(runOf({ ...row, ...change }).keptInBf16).toEqual(expected);
  });

  it.each([
    ['DeepSeek-V3 on GB300', { gpu: 'GB300-NVL72', model: 'DeepSeek-V3' }, { attention: true, outputProjection: true }],
    ['it on GB200', { model: 'DeepSeek-V3' }, { attention: false, outputProjection: true }],
    ['GPT-OSS', { model: 'GPT-OSS-120B' }, { attention: true, outputProjection: true }],
    ['others', { model: 'Qwen3-235B-A22B' }, { attention: true, outputProjection: false }],
    ['them without graphs of the whole iteration', { ...of('26.04') }, undefined],
    ['them in NVFP4', { precision: 'nvfp4' }, undefined],
    ['them by another engine', { engine: 'NeMo 25.04', notes: 'CUDA graphs on' }, undefined],
  ])('quantise besides linear layers of %s', (_, change, expected) => {
    const row = { ...moe, ...nvl72, ...of('26.06'), precision: 'mxfp8' };
    expect(runOf({ ...row, ...change }).alsoIn8Bits).toEqual(expected);
  });

  it.each([
    ['on Hopper', { ...h100, ...of('26.04') }, ['mla_up_proj', 'mlp']],
    ['on Blackwell', { ...nvl72, ...of('26.04') }, ['mla_up_proj']],
    ['on GB300 since mid-2026', { ...nvl72, gpu: 'GB300-NVL72', ...of('26.06') }, []],
  ])('recompute parts of DeepSeek-V3 %s', (_, change, expected) => {
    const run = runOf({ ...moe, ...change, model: 'DeepSeek-V3', recompute: '' });
    expect(run.candidate.recomputeModules).toEqual(expected);
  });
});

describe('MLPerf submissions with NeMo', () => {
  const submission = { engine: 'NeMo/MCore (MLPerf 5.1)', gpu: 'B200-SXM', precision: 'fp8' };

  it.each([
    ['of the 8B benchmark run CUDA graphs', 'config_DGXB200_8x8x1xtp1pp1cp2_8b.sh', 'full'],
    ['run them where the name says so', 'config_GB200_1280x4x16xtp4pp8cp2_cg_fp4.sh', 'full'],
    ['else do not', 'config_DGXH100_16x8x1xtp2pp1cp1.sh', 'none'],
  ])('%s', (_, file, expected) => {
    expect(runOf({ ...submission, notes: `layout from ${file} (2 candidates)` }).candidate.cudaGraphs).toBe(expected);
  });

  it('put data parallelism outermost since 5.1', () => {
    expect(runOf(submission).candidate.rankOrder).toBe('tp-cp-pp-dp');
    expect(runOf({ ...submission, engine: 'NeMo/MCore (MLPerf 5.0)' }).candidate.rankOrder).toBeUndefined();
  });
});
