import { runOf } from '../testing/invented-rows.ts';
import { statedScaleOutGbPerS } from './cluster-of-row.ts';

describe('bandwidth per GPU of a network as tables describe it', () => {
  it.each<[string, number, number | undefined]>([
    ['8x HDR InfiniBand 200Gb/s (NIC per GPU)', 8, 25],
    ['InfiniBand NDR 400G per GPU (Eos)', 8, 50],
    ['InfiniBand 400G per GPU', 4, 50],
    ['4x Omni-Path 100Gb/s per node (Jean Zay)', 8, 6.25],
    ['Omni-Path 4x100Gb/s (Jean Zay V100)', 4, 12.5],
    ['InfiniBand 4x HDR 800Gb/s per node', 8, 12.5],
    ['RoCE 1600Gb/s per node', 8, 25],
    ['4x 100Gb/s RoCE per node', 8, 6.25],
    ['InfiniBand 100Gb/s', 8, 1.5625],
    ['Slingshot 200Gb/s per GPU (Clariden/Alps)', 4, 25],
    ['4x ConnectX-7 IB NDR 400Gb/s', 4, 50],
    ['2x Mellanox ConnectX-5 Ex 100Gb/s Ethernet', 8, 3.125],
    ['Storage: 2x BF3 400Gb/s, Compute: 8x BF3 ConnectX-7 400Gb/s', 8, 50],
    ['Storage+Management: 1x NVIDIA BlueField 2 DPU 100Gb/s', 8, undefined],
    ['NVL72 inside rack; InfiniBand/Ethernet 400-800G per GPU across', 4, undefined],
    ['InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s', 8, undefined],
    ['100GbE InfiniBand', 8, undefined],
    ['1x Ethernet, 8x Quantum', 8, undefined],
    ['1x Ethernet 100Gb/s, 8x Quantum-2 400Gb/s', 8, 50],
    ['8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s Ethernet NIC', 8, 50],
    ['RoCE RDMA', 8, undefined],
    ['Ethernet 25G', 8, 0.390625],
    ['', 8, undefined],
  ])('%s with %d GPUs per node: %s GB/s', (link, gpusPerNode, expected) => {
    expect(statedScaleOutGbPerS(link, gpusPerNode)).toBe(expected);
  });
});

describe('the machines of a row', () => {
  it.each([
    ['1x Ethernet, 8x Quantum', 'infiniband', 50],
    ['1x Ethernet 100Gb/s, 8x Quantum-2 400Gb/s', 'infiniband', 50],
    ['2x Mellanox ConnectX-5 Ex 100Gb/s Ethernet', 'ethernet', 3.125],
    ['EFA, 3200Gb/s per node', 'efa', 50],
    ['4x Omni-Path 100Gb/s per node (Jean Zay)', 'omnipath', 6.25],
    ['Slingshot 200Gb/s per GPU', 'other', 25],
  ])('on %s speak %s', (inter_node_link, nicKind, scaleOutGbPerS) => {
    expect(runOf({ gpu: 'H100-SXM5-80GB', inter_node_link }).cluster).toMatchObject({ nicKind, scaleOutGbPerS });
  });

  it.each([
    ['H100-SXM5-80GB', 'h100-sxm5-80gb'],
    ['H100-SXM5-96GB', 'h100-sxm5-96gb-500w'],
    ['H100 96GB HBM2e (500 W)', 'h100-sxm5-96gb-500w'],
    ['GH200-96GB', 'gh200-96gb'],
  ])('with %s hold %s', (gpu, name) => {
    expect(runOf({ gpu }).cluster.gpu.name).toBe(name);
  });
});
