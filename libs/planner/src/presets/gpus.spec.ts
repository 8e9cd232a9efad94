import { GPU_PRESETS, gpuOf } from './gpus.ts';

describe('gpuOf', () => {
  it.each([
    ['h100', 'h100-sxm5-80gb'],
    ['H100-SXM5-80GB', 'h100-sxm5-80gb'],
    ['h100_sxm', 'h100-sxm5-80gb'],
    ['NVIDIA-H100-80GB-HBM3', 'h100-sxm5-80gb'],
    ['H100 PCIe', 'h100-pcie-80gb'],
    ['a100', 'a100-sxm4-80gb'],
    ['A100 PCIe', 'a100-pcie-80gb'],
    ['NVIDIA-A100-PCIE-40GB', 'a100-pcie-40gb'],
    ['H100-SXM5-96GB', 'h100-sxm5-96gb-500w'],
    ['A100-SXM4-40GB', 'a100-sxm4-40gb'],
    ['A800-SXM4-80GB', 'a800-sxm4-80gb'],
    ['V100-SXM2-32GB', 'v100-sxm2-32gb'],
    ['V100-SXM2-16GB', 'v100-sxm2-16gb'],
    ['GPU not stated in doc (OneFlow CI, V100-class)', 'v100-class'],
    ['GPU not stated (V100-class)', 'v100-class'],
    ['GH200-96GB', 'gh200-96gb'],
    ['NVIDIA-GH200-120GB', 'gh200-96gb'],
    ['NVIDIA-GH200-480GB', 'gh200-480gb'],
    ['H200-SXM-141GB', 'h200-sxm-141gb'],
    ['B200-SXM', 'b200-sxm-180gb'],
    ['B300-SXM', 'b300-sxm-288gb'],
    ['GB200-NVL72', 'gb200-nvl72'],
    ['GB300-NVL72', 'gb300-nvl72'],
    ['AMD_Instinct_MI250X', 'mi250x'],
    ['NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition', 'rtx-pro-6000-blackwell-96gb'],
    ['MI300X', 'mi300x'],
    ['MI300', 'mi300x'],
    ['MI355X', 'mi355x'],
    ['RTX 4090', 'rtx-4090'],
    ['NVIDIA-GeForce-RTX-3090', 'rtx-3090'],
    ['NVIDIA-L40S', 'l40s-48gb'],
    ['NVIDIA-L40', 'l40-48gb'],
    ['NVIDIA-L4', 'l4-24gb'],
    ['NVIDIA-A10G', 'a10g-24gb'],
    ['NVIDIA-A10', 'a10-24gb'],
    ['NVIDIA-A30', 'a30-pcie-24gb'],
    ['NVIDIA-A40', 'a40-48gb'],
    ['Tesla-T4', 't4-16gb'],
    ['NVIDIA-RTX-A6000', 'rtx-a6000-48gb'],
    ['NVIDIA-RTX-6000-Ada-Generation', 'rtx-6000-ada-48gb'],
    ['NVIDIA-H100-NVL', 'h100-nvl-94gb'],
    ['NVIDIA-H200-NVL', 'h200-nvl-141gb'],
    ['NVIDIA-H20-3e', 'h20-sxm-141gb'],
    ['RTX-2080+RTX-3090+Titan-RTX', 'rtx-2080-3090-titan-rtx'],
    ['Gaudi2', 'gaudi2'],
    ['Ascend 910B', 'ascend-910b'],
    ['TPU-v4', 'tpu-v4'],
    ['TPU-v5e', 'tpu-v5e'],
    ['TPU-v5p', 'tpu-v5p'],
    ['TPU-v6e', 'tpu-v6e'],
  ])('%s is %s', (spelling, name) => {
    expect(gpuOf(spelling).name).toBe(name);
  });

  it.each([
    ['h100-sxm6', /GPU "h100-sxm6" is not known; nearest: h100-sxm5-80gb/],
    ['b20', /nearest: .*b200-sxm-180gb/],
    ['', /GPU "" is not known/],
  ])('a misspelt %j is answered with the nearest names', (spelling, message) => {
    expect(() => gpuOf(spelling)).toThrow(message);
  });
});

describe('GPU presets', () => {
  const spellings = GPU_PRESETS.flatMap(({ name, aliases }) => [
    ...new Set([name, ...aliases].map((each) => each.toLowerCase().replace(/[^a-z0-9]/g, ''))),
  ]);

  it('no spelling means two GPUs', () => {
    expect(spellings.filter((spelling, index) => spellings.indexOf(spelling) !== index)).toEqual([]);
  });

  it.each(GPU_PRESETS.map((preset) => [preset.name, preset] as const))('%s has plausible figures', (_, gpu) => {
    expect(gpu.matmulCeiling).toBeGreaterThan(0.4);
    expect(gpu.matmulCeiling).toBeLessThan(1);
    // Bridges join two or four cards of a node.
    expect([2, 4].includes(gpu.scaleUpDomainGpus) || gpu.scaleUpDomainGpus >= gpu.gpusPerNode).toBe(true);
    expect(gpu.fp8Tflops === 0 || Math.abs(gpu.fp8Tflops / gpu.bf16Tflops - 2) < 0.01).toBe(true);
    expect(gpu.memoryGib).toBeGreaterThanOrEqual(2);
    expect(gpu.nicGbps / 8).toBeLessThanOrEqual(gpu.scaleUpGbPerS);
    expect(gpu.source).not.toBe('');
    expect(gpu.hostMemoryGibPerNode).toBeGreaterThanOrEqual(16);
    expect(gpu.hostMemoryGibPerNode).toBeLessThanOrEqual(4096);
  });

  it('only links of racks and slices join more GPUs than a node has', () => {
    const beyond = GPU_PRESETS.filter(({ scaleUpDomainGpus, gpusPerNode }) => scaleUpDomainGpus > gpusPerNode);
    expect(beyond.map(({ name }) => name)).toEqual([
      'gb200-nvl72',
      'gb300-nvl72',
      'tpu-v4',
      'tpu-v5e',
      'tpu-v5p',
      'tpu-v6e',
    ]);
  });

  // Dense peaks as the vendors print them; memory in the vendor's GB.
  it.each([
    ['v100-32gb', { bf16Tflops: 125, memoryTbPerS: 0.9, scaleUpGbPerS: 150 }, 32],
    ['a100-40gb', { bf16Tflops: 312, memoryTbPerS: 1.555, scaleUpGbPerS: 300 }, 40],
    ['a100-80gb', { bf16Tflops: 312, memoryTbPerS: 2.039, scaleUpGbPerS: 300 }, 80],
    ['h100', { bf16Tflops: 989, memoryTbPerS: 3.35, scaleUpGbPerS: 450 }, 80],
    ['h800', { bf16Tflops: 989, memoryTbPerS: 3.35, scaleUpGbPerS: 200 }, 80],
    ['h200', { bf16Tflops: 989, memoryTbPerS: 4.8, scaleUpGbPerS: 450 }, 141],
    ['b200', { bf16Tflops: 2250, memoryTbPerS: 8, scaleUpGbPerS: 900 }, 180],
    ['b300', { bf16Tflops: 2250, memoryTbPerS: 8, scaleUpGbPerS: 900 }, 288],
    ['gb200', { bf16Tflops: 2450, memoryTbPerS: 8, scaleUpGbPerS: 900 }, 186],
    ['gb300', { bf16Tflops: 2450, memoryTbPerS: 8, scaleUpGbPerS: 900 }, 288],
    ['h100-nvl', { bf16Tflops: 835, memoryTbPerS: 3.9, scaleUpGbPerS: 300 }, 94],
    ['l40s', { bf16Tflops: 362, memoryTbPerS: 0.864, scaleUpGbPerS: 32 }, 48],
    ['l4', { bf16Tflops: 121, memoryTbPerS: 0.3, scaleUpGbPerS: 32 }, 24],
    ['a40', { bf16Tflops: 149.7, memoryTbPerS: 0.696, scaleUpGbPerS: 56.25 }, 48],
    ['mi300x', { bf16Tflops: 1307, memoryTbPerS: 5.3, scaleUpGbPerS: 448 }, 192],
  ])('%s has %j and reports at most %d GB', (name, figures, memoryGb) => {
    const gpu = gpuOf(name);
    expect(gpu).toMatchObject(figures);
    expect(gpu.memoryGib).toBeGreaterThan(memoryGb * 0.93);
    expect(gpu.memoryGib).toBeLessThanOrEqual(memoryGb);
  });

  it.each([
    ['gh200', 120, 4],
    ['gh200-480gb', 480, 1],
    ['gb200', 240, 4],
    ['gb300', 240, 4],
  ])('%s has %d GiB of its CPU for each GPU and %d GPUs in a node', (name, hostGib, perNode) => {
    const { hostMemoryGibPerNode, gpusPerNode } = gpuOf(name);
    expect(hostMemoryGibPerNode / gpusPerNode).toBe(hostGib);
    expect(gpusPerNode).toBe(perNode);
  });
});
