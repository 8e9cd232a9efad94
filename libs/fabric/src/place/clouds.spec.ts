import { NODE_LABELS } from '@coxswain/api-types';
import { assumedReachSentence } from '../capacity/assumed-reach.ts';
import type { NodeFacts } from '../nodes/fabric.ts';
import { fabricOf, type Labels, topograph } from '../testing/labelled-nodes.ts';
import { type PlacementOutcome, placeGang } from './placement.ts';

/** 64 nodes. */
const LAYOUT = { tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 16 };
const EFA = 'vpc.amazonaws.com/efa';
const ZONE = 'topology.kubernetes.io/zone';

type LabelsOf = (block: number, node: number) => Labels;

/** 205 nodes with 1,640 GPUs in five blocks of 41, which is 328 GPUs each. */
function placedOn(labelsOf: LabelsOf, facts: Partial<NodeFacts> = {}): { outcome: PlacementOutcome; said: string } {
  const nodes = fabricOf(
    ...Array.from({ length: 205 }, (_, index) => ({ ...facts, labels: labelsOf(Math.floor(index / 41), index) })),
  );
  const outcome = placeGang({ layout: LAYOUT }, { fabric: { nodes }, usedGpus: new Map() });
  const names = new Set(outcome.kind === 'placed' ? outcome.nodes : []);
  return { outcome, said: assumedReachSentence(nodes.filter(({ name }) => names.has(name))) ?? 'known' };
}

const google: LabelsOf = (block, node) => ({
  'cloud.google.com/gce-topology-block': `b-${block}`,
  'cloud.google.com/gce-topology-subblock': `sb-${Math.floor(node / 8)}`,
  [ZONE]: 'us-central1-a',
});
const aws: LabelsOf = (block, node) => ({
  'topology.k8s.aws/network-node-layer-1': `nn-${block}`,
  'topology.k8s.aws/network-node-layer-2': `nn-${block}-2`,
  'topology.k8s.aws/network-node-layer-3': `nn-${Math.floor(node / 8)}-3`,
  [ZONE]: 'us-east-1a',
});
const oracle: LabelsOf = (block, node) => ({
  'oci.oraclecloud.com/rdma.network_block_id': `nb-${block}`,
  'oci.oraclecloud.com/rdma.local_block_id': `lb-${Math.floor(node / 8)}`,
});
const azure: LabelsOf = () => ({ [ZONE]: 'eastus-1' });
const topographOnAws: LabelsOf = (block, node) => ({
  ...topograph(`leaf-${Math.floor(node / 8)}`, `spine-${block}`, `core-${block}`),
  [ZONE]: 'us-east-1a',
});

const and =
  (labelsOf: LabelsOf, more: LabelsOf): LabelsOf =>
  (block, node) => ({ ...labelsOf(block, node), ...more(block, node) });
/** The label of the island, the same on all nodes or one for each block. */
const on =
  (key: string, island: (block: number) => string): LabelsOf =>
  (block) => ({ [key]: island(block) });
const one = (): string => 'one';
const perBlock = (block: number): string => `network-${block}`;

const ISLAND = NODE_LABELS.nicIsland;
const OCI_ISLAND = 'oci.oraclecloud.com/rdma.hpc_island_id';
const AZURE_ISLAND = 'azure.dra.net/placementGroupId';

describe('a job of 512 GPUs on five blocks of 328 GPUs', () => {
  it.each<[string, LabelsOf, string]>([
    ["on Google's blocks", google, 'placed, assumed'],
    ["on Google's blocks of one declared network", and(google, on(ISLAND, one)), 'placed, known'],
    [
      "on Google's blocks of two zones",
      and(
        google,
        on(ZONE, (block) => `zone-${block}`),
      ),
      'unsatisfiable',
    ],
    ["on Google's blocks that an administrator declares separate", and(google, on(ISLAND, perBlock)), 'unsatisfiable'],
    ["below AWS' first layer", aws, 'placed, assumed'],
    ["below AWS' first layer in one declared network", and(aws, on(ISLAND, one)), 'placed, known'],
    [
      "below AWS' first layer in several zones",
      and(
        aws,
        on(ZONE, (block) => `zone-${block}`),
      ),
      'unsatisfiable',
    ],
    ["on Oracle's network blocks", oracle, 'placed, assumed'],
    ["on Oracle's network blocks of one HPC island", and(oracle, on(OCI_ISLAND, one)), 'placed, known'],
    ["on Oracle's network blocks of several HPC islands", and(oracle, on(OCI_ISLAND, perBlock)), 'unsatisfiable'],
    ["on Azure's nodes without a placement group", azure, 'placed, known'],
    ["in one placement group of Azure's", and(azure, on(AZURE_ISLAND, one)), 'placed, known'],
    ["in several placement groups of Azure's", and(azure, on(AZURE_ISLAND, perBlock)), 'unsatisfiable'],
    ['below several cores that topograph reports', and(topographOnAws, () => ({})), 'unsatisfiable'],
  ])('%s', (_where, labelsOf, want) => {
    const { outcome, said } = placedOn(labelsOf);
    const reach = said.startsWith('No label says') ? 'assumed' : said;
    expect(outcome.kind === 'placed' ? `placed, ${reach}` : outcome.kind).toBe(want);
  });

  it('below several cores that topograph reports of AWS, whose EFA reaches the whole zone', () => {
    const { outcome, said } = placedOn(topographOnAws, { devices: { [EFA]: 32 } });
    expect([outcome.kind, said.split(';')[0]]).toEqual([
      'placed',
      'No label says that nodes below core-0, core-1 reach each other',
    ]);
  });

  it('the sentence says what is assumed, what measures it and which label ends it', () => {
    expect(placedOn(google).said).toBe(
      'No label says that nodes below b-0, b-1 reach each other; it is assumed, and preflight measures it. Where they do not, label the nodes of each network with fabric.coxswain.dev/nic-island.',
    );
  });
});

describe('a zone that is the border of a network', () => {
  const islandsOf = (...labels: readonly Labels[]): readonly string[] =>
    fabricOf(...labels).map(({ island }) => island);

  it.each<[string, readonly Labels[], readonly string[]]>([
    [
      'holds nodes whose switches have no label yet',
      [google(0, 0), { [ZONE]: 'us-central1-a' }],
      [`${ZONE}=us-central1-a`, `${ZONE}=us-central1-a`],
    ],
    ['does not hold nodes of another zone', [google(0, 0), { [ZONE]: 'b' }], [`${ZONE}=us-central1-a`, 'unlabelled']],
    ['is none for other producers', [{ ...topograph('l', 's'), [ZONE]: 'a' }], ['unlabelled']],
  ])('%s', (_sentence, labels, want) => {
    expect(islandsOf(...labels)).toEqual(want);
  });
});
