import { aFabricNode } from '@coxswain/fabric/testing';
import { stagesOnNodes } from './stages-on-nodes.ts';

const nodes = (...types: readonly string[]) =>
  types.map((gpuType, index) => aFabricNode({ name: `n${index}`, ...(gpuType === '' ? {} : { gpuType }) }));

describe('GPUs of stages in the words of the nodes', () => {
  it.each<[sentence: string, gpu: string, types: readonly string[], want: string]>([
    [
      'are what the label says that means the preset',
      'h100-sxm5-80gb',
      ['NVIDIA-H100-80GB-HBM3', 'NVIDIA-A100-SXM4-80GB'],
      'NVIDIA-H100-80GB-HBM3',
    ],
    ['are as they are named, known or not', 'abacus', ['abacus', ''], 'abacus'],
    ['are the named one of two that mean a preset', 'H100', ['H100', 'NVIDIA-H100-80GB-HBM3'], 'H100'],
  ])('%s', (_sentence, gpu, types, want) => {
    expect(stagesOnNodes([{ stages: 2, gpu }], nodes(...types))).toEqual({ stageGpus: [{ stages: 2, gpuType: want }] });
  });

  it.each<[sentence: string, gpu: string, types: readonly string[], want: RegExp]>([
    [
      'of none',
      'b200',
      ['NVIDIA-H100-80GB-HBM3'],
      /^2 stages are for b200, and no node has such GPUs: nodes have NVIDIA-H100/,
    ],
    ['of nodes that say nothing', 'b200', ['', ''], /no node says which GPUs it has\.$/],
    [
      'of two that mean the preset',
      'h100-sxm5-80gb',
      ['H100', 'NVIDIA-H100-80GB-HBM3'],
      /name one of H100, NVIDIA-H100-80GB-HBM3\.$/,
    ],
  ])('are a problem %s', (_sentence, gpu, types, want) => {
    expect(stagesOnNodes([{ stages: 2, gpu }], nodes(...types))).toEqual({
      problem: expect.stringMatching(want) as string,
    });
  });
});
