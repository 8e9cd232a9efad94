/** The machines of a row: GPU type, node and domain size, and the share of the scale-out network that one GPU has. */
import type { ClusterFacts, GpuFacts, NicKind } from '@coxswain/planner';
import { GPU_PRESETS, gpuOf, type GpuPreset } from '@coxswain/planner/presets';
import { requiredNumber, wholeNumber } from './cells.ts';
import type { FilledValues } from './filled-values.ts';
import { Unpredicted } from './filled-values.ts';
import type { StatedCells } from './measured-row.ts';

/** @throws Unpredicted when the GPU is not known, or there are several types of them */
export function clusterOfRow(cells: StatedCells, filled: FilledValues): ClusterFacts {
  const preset = presetOf(cells.gpu);
  const gpus = requiredNumber(cells, 'gpus');
  const gpusPerNode = filled.or(wholeNumber(cells, 'gpus_per_node'), 'gpus_per_node by GPU', () => preset.gpusPerNode);
  return {
    gpu: gpuFacts(preset, cells.intra_node_link),
    gpus,
    gpusPerNode,
    scaleUpDomainGpus: Math.max(gpusPerNode, /NVL72/i.test(cells.intra_node_link) ? 72 : preset.scaleUpDomainGpus),
    scaleOutGbPerS: filled.or(
      statedScaleOutGbPerS(cells.inter_node_link, gpusPerNode),
      'scale-out network by GPU',
      () => preset.nicGbps / 8,
    ),
    nicKind: nicKindOf(computeNetwork(cells.inter_node_link) ?? '') ?? preset.nicKind,
  };
}

function presetOf(name: string): GpuPreset {
  if (name.includes('+'))
    throw new Unpredicted(`"${name}" are several types of GPU, and which one has which ranks is not read`);
  try {
    return gpuOf(name);
  } catch {
    const text = essence(name);
    const similar = GPU_PRESETS.filter((preset) => preset.name !== 'simulated')
      .flatMap((preset) =>
        [preset.name, ...preset.aliases].map((spelling) => ({ preset, spelling: essence(spelling) })),
      )
      .filter(({ spelling }) => spelling.length >= 4 && text.includes(spelling))
      .sort((a, b) => b.spelling.length - a.spelling.length)[0];
    if (similar === undefined) throw new Unpredicted(`GPU ${name === '' ? '' : `"${name}" `}is not known`);
    return similar.preset;
  }
}

function essence(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** A node without NVLink or xGMI moves everything over PCIe. */
function gpuFacts(preset: GpuPreset, link: string): GpuFacts {
  const isPcie = /^PCIe/i.test(link);
  return {
    name: preset.name,
    silicon: preset.silicon,
    bf16Tflops: preset.bf16Tflops,
    fp8Tflops: preset.fp8Tflops,
    fp4Tflops: preset.fp4Tflops,
    matmulCeiling: preset.matmulCeiling,
    memoryGib: preset.memoryGib,
    memoryTbPerS: preset.memoryTbPerS,
    scaleUpGbPerS: isPcie ? Math.min(preset.scaleUpGbPerS, preset.pcieGbPerS) : preset.scaleUpGbPerS,
    scaleUpDomainGpus: preset.scaleUpDomainGpus,
    pcieGbPerS: preset.pcieGbPerS,
    usdPerHour: preset.usdPerHour,
  };
}

const RATE = /(?:(\d+)\s*x\s*)?[^,;:()]*?(\d+(?:\.\d+)?)\s*(?:G(?:b(?:\/s|ps|it\/s|it\/sec|\/sec)?|bE)?)(?![a-z])/i;

/**
 * GB/s per GPU of a network as tables describe it: `8x HDR InfiniBand 200Gb/s`, `4x 100Gb/s RoCE per node`, `400G per GPU`,
 * `1600Gb/s per node`. A rate without a count or `per GPU` is one port per node. Undefined where no rate is stated.
 */
export function statedScaleOutGbPerS(link: string, gpusPerNode: number): number | undefined {
  const own = computeNetwork(link);
  if (own === undefined || /^NVL\d+ inside/.test(own)) return undefined;
  const match = RATE.exec(own);
  const rate = Number(match?.[2]);
  if (!(rate > 0)) return undefined;
  if (/per (GPU|accelerator|chip)/i.test(own)) return rate / 8;
  const ports = isSumOfPorts(own, rate) ? 1 : Number(match?.[1] ?? portsBefore(own));
  return (ports * rate) / 8 / gpusPerNode;
}

/** Names that only InfiniBand adapters and switches have. */
const INFINIBAND_PART = /infiniband|quantum|\bIB\b|\b[EHNX]DR\b/i;

/**
 * What carries training traffic in a description of a machine: the part after `Compute:`, before other figures, or the InfiniBand ports of a
 * list (`1x Ethernet, 8x Quantum`), whose Ethernet is for the host. Undefined where only storage or management networks are described, to
 * which a `GbE` rate beside InfiniBand belongs too.
 */
function computeNetwork(link: string): string | undefined {
  const named = /Compute:\s*([^;]+)/i.exec(link)?.[1];
  if (named !== undefined) return named;
  const parts = link.split(/[,;+]/).map((part) => part.trim());
  const ports = parts.filter((part) => /^\d+\s*x\b/i.test(part));
  if (ports.length > 1) return ports.find((part) => INFINIBAND_PART.test(part)) ?? ports[0];
  if (/\bstorage\b|\bmanagement\b/i.test(link) || /GbE\b.*InfiniBand|InfiniBand.*GbE\b/i.test(link)) return undefined;
  return link.split(';')[0];
}

const INFINIBAND_GBPS = { EDR: 100, HDR: 200, NDR: 400, XDR: 800 } as const;

/** `4x HDR 800Gb/s per node`: more than one port of that generation carries. */
function isSumOfPorts(text: string, rate: number): boolean {
  return Object.entries(INFINIBAND_GBPS).some(([generation, gbps]) => text.includes(generation) && rate > gbps);
}

/** `Omni-Path 4x100Gb/s`: the count stands right before the rate. */
function portsBefore(text: string): number {
  return Number(/(\d+)x\s*\d+/.exec(text)?.[1] ?? 1);
}

function nicKindOf(link: string): NicKind | undefined {
  if (INFINIBAND_PART.test(link)) return 'infiniband';
  if (/roce/i.test(link)) return 'roce';
  if (/ethernet|gbe\b|dcn|\btcp\b/i.test(link)) return 'ethernet';
  if (/\befa\b/i.test(link)) return 'efa';
  if (/omni.?path/i.test(link)) return 'omnipath';
  return /slingshot|rdma|ici/i.test(link) ? 'other' : undefined;
}
