import type { FabricNode } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { placedCluster, placedClusterOfParts } from './placed-cluster.ts';

/** Nodes of 8 H100s, one for each letter: its NVLink domain, or `.` for one of its own. */
function nodes(domains: string, parts: Partial<FabricNode> = {}): readonly FabricNode[] {
  return [...domains].map((domain, index) =>
    aFabricNode({
      name: `n${index}`,
      gpuType: 'NVIDIA-H100-80GB-HBM3',
      ...(domain === '.' ? {} : { nvlinkDomain: domain }),
      ...parts,
    }),
  );
}

const clusterOf = (placed: readonly FabricNode[], ranksPerPod = 8) =>
  placedCluster(placed, { gpus: placed.length * ranksPerPod, ranksPerPod });

describe('the cluster of a placement', () => {
  it.each<readonly [sentence: string, placed: readonly FabricNode[], want: number | undefined]>([
    ['nodes alone', nodes('....'), 8],
    ['two domains of two nodes', nodes('aabb'), 16],
    ['one domain', nodes('aaaa'), 32],
    ['a domain that only two in the middle share', nodes('abbc'), 8],
    ['a domain that is left and entered again', nodes('abab'), 8],
  ])('has NVLink as far as every run of ranks has it: %s', (_sentence, placed, want) => {
    expect(clusterOf(placed)?.cluster.scaleUpDomainGpus).toBe(want);
  });

  it.each<readonly [sentence: string, placed: readonly FabricNode[], want: number | undefined]>([
    ['one NIC per GPU where nobody says how many', nodes('..', { nicSpeedGbps: 400 }), 50],
    ['four NICs for eight GPUs', nodes('..', { nicSpeedGbps: 400, nicCount: 4 }), 25],
    ['the slowest of them', [...nodes('..', { nicSpeedGbps: 400 }), ...nodes('.', { nicSpeedGbps: 100 })], 12.5],
    ['no label', nodes('..'), undefined],
  ])('has the slowest network: %s', (_sentence, placed, want) => {
    expect(clusterOf(placed)?.cluster.scaleOutGbPerS).toBe(want);
  });

  it('counts the ranks of a pod alone, and the last pod as small as it is', () => {
    const here = placedCluster(nodes('..'), { gpus: 6, ranksPerPod: 4 });
    expect(here?.cluster).toMatchObject({ gpu: 'h100-sxm5-80gb', gpus: 6, gpusPerNode: 4, scaleUpDomainGpus: 4 });
  });

  it.each<readonly [sentence: string, placed: readonly FabricNode[], want: RegExp]>([
    ['switches', nodes('..', { nicSpeedGbps: 400 }), /oversubscribed/],
    ['several islands', [...nodes('.'), ...nodes('.', { island: 'roce' })], /2 islands/],
    ['NICs without a speed', nodes('..'), /No label says how fast/],
    ['GPUs of several kinds', [...nodes('..'), ...nodes('.', { gpuType: 'NVIDIA-H200' })], /different GPUs/],
  ])('says what is left out: %s', (_sentence, placed, want) => {
    expect(clusterOf(placed)?.leftOut.join(' ')).toMatch(want);
  });

  it.each([
    ['anyGroup', 'roce', 'ethernet', /in 2 islands, over TCP sockets: what the way between them costs is left out/],
    ['pipeline', 'roce', 'roce', /in 2 islands: what the way/],
    ['anyGroup', 'infiniband', 'infiniband', /^Switches [^.]*\.( No label [^.]*\.)?$/],
  ] as const)(
    'uses sockets where it may and is in several islands: %s, the other %s',
    (acrossIslands, island, nic, changes) => {
      const here = nodes('..', { nicType: 'infiniband', island: 'infiniband' });
      const there = nodes('..', { nicType: island, island, gpuType: 'NVIDIA-A100-SXM4-80GB' });
      const parts = [here, there].map((one) => ({ nodes: one, gpus: 16 }));
      const ofParts = placedClusterOfParts(parts, { ranksPerPod: 8, acrossIslands });
      expect(ofParts?.cluster.islands?.[1]?.nicKind).toBe(nic);
      expect(ofParts?.leftOut.join(' ')).toMatch(changes);
      const alike = [...here, ...there.map((node) => ({ ...node, gpuType: 'NVIDIA-H100-80GB-HBM3' }))];
      const ofOne = placedCluster(alike, { gpus: 32, ranksPerPod: 8, acrossIslands });
      expect(ofOne?.cluster.nicKind === 'ethernet').toBe(nic === 'ethernet');
      expect(ofOne?.leftOut.join(' ')).toMatch(changes);
    },
  );

  it('is none where nobody knows the GPUs', () => {
    expect(clusterOf(nodes('..', { gpuType: 'abacus' }))).toBeUndefined();
  });
});
