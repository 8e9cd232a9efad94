import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { nodeDemandOf, readRuntime } from './index.ts';

const DIRECTORY = join(import.meta.dirname, '../../../examples/runtimes');

const EFA = 'vpc.amazonaws.com/efa';
const VF = 'nvidia.com/rdma-vf';

/** Each file, and the devices that its pods ask of a node. */
const RUNTIMES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'aks-ndv5.yaml': { 'rdma/shared_ib': 1 },
  'coreweave.yaml': { 'rdma/ib': 1 },
  'efa.yaml': { [EFA]: 32 },
  'gb200.yaml': { [EFA]: 4 },
  'gke-gib.yaml': {},
  'gke-tcpx.yaml': {},
  'gke-tcpxo.yaml': {},
  'oke-rdma-vf.yaml': { [VF]: 8 },
  'rdma-shared.yaml': { 'rdma/shared_ib': 1 },
  'rdma-sriov.yaml': { [VF]: 8 },
  'restricted.yaml': {},
  'tcp.yaml': {},
};

describe('the runtimes that are shown as examples', () => {
  it.each(Object.entries(RUNTIMES))('%s can be used, and asks each node for its devices', (file, devices) => {
    const { usable } = readRuntime(parse(readFileSync(join(DIRECTORY, file), 'utf8')) as never);
    if (usable.kind === 'refused') throw new Error(usable.message);
    expect(nodeDemandOf(usable.snapshot.template).devices).toEqual(devices);
  });

  it('are these', () => {
    expect(readdirSync(DIRECTORY).toSorted()).toEqual(Object.keys(RUNTIMES));
  });
});
