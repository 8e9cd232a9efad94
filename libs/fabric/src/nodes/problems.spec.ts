import { NODE_LABELS } from '@coxswain/api-types';
import type { NodeFacts } from './fabric.ts';
import { fabricProblems, MAX_FABRIC_PROBLEMS } from './problems.ts';
import { factsOf, type Labels, topograph } from '../testing/labelled-nodes.ts';

type Given = readonly (Labels | Partial<NodeFacts>)[];

const CLIQUE = 'nvidia.com/gpu.clique';
const ACCELERATOR = 'accelerator.topograph.run/domain';
const LEAF = 'network.topology.nvidia.com/leaf';

function domains(...rows: readonly (readonly [string, string])[]): readonly Labels[] {
  return rows.map(([clique, accelerator]) => ({ [CLIQUE]: clique, [ACCELERATOR]: accelerator }));
}

describe('what contradicts itself', () => {
  it.each<[string, Given, string, readonly string[]]>([
    [
      'a domain over two islands',
      [
        { [CLIQUE]: 'u.1', [NODE_LABELS.nicIsland]: 'a' },
        { [CLIQUE]: 'u.1', [NODE_LABELS.nicIsland]: 'b' },
      ],
      'NVLink domain nvidia.com/gpu.clique=u.1 lies over islands a (n1) and b (n2).',
      ['n1', 'n2'],
    ],
    [
      'producers of domains that divide crosswise',
      [...domains(['a', 'x'], ['a', 'y'], ['b', 'y'])],
      'nvidia.com/gpu.clique puts nodes n1, n2 into one NVLink domain and n2, n3 into two; accelerator.topograph.run/domain says the opposite of both.',
      ['n1', 'n2', 'n3'],
    ],
    [
      'a switch of two parents',
      [topograph('l', 's1'), topograph('l', 's2')],
      'Switch fabric.topograph.run/tier-0=l is below fabric.topograph.run/tier-1=s1 by n1 and below fabric.topograph.run/tier-1=s2 by n2.',
      ['n1', 'n2'],
    ],
    [
      'a circle of two switches',
      [topograph('a', 'b'), topograph('b', 'a')],
      'Labels of topograph put switches in a circle: a below b by n1, b below a by n2.',
      ['n1', 'n2'],
    ],
    [
      'a circle of three, beside a tree',
      [topograph('a', 'b'), topograph('b', 'c'), topograph('c', 'a'), topograph('l', 's')],
      'in a circle: a below b by n1, b below c by n2, c below a by n3.',
      ['n1', 'n2', 'n3'],
    ],
    [
      'producers of switches that divide crosswise',
      [
        { ...topograph('a'), [LEAF]: 'x' },
        { ...topograph('a'), [LEAF]: 'y' },
        { ...topograph('b'), [LEAF]: 'y' },
      ],
      'Labels of topograph put nodes n1, n2 below one switch and n2, n3 below two; those of topograph-0 say the opposite of both.',
      ['n1', 'n2', 'n3'],
    ],
    [
      'DRA that says other than our label',
      [
        {
          labels: { [NODE_LABELS.nicType]: 'infiniband' },
          draDevices: [{ 'dra.net/rdma': true, 'dra.net/encapsulation': 'ether' }],
        },
      ],
      'fabric.coxswain.dev/nic-type says NICs of class infiniband, the DRA attribute dra.net/encapsulation roce, on n1.',
      ['n1'],
    ],
    [
      'RDMA that NFD does not find',
      [{ [NODE_LABELS.nicType]: 'roce', 'feature.node.kubernetes.io/rdma.capable': 'false' }],
      'which needs RDMA, feature.node.kubernetes.io/rdma.capable that there is none, on n1.',
      ['n1'],
    ],
    [
      'a number of GPUs that is none',
      [{ labels: {}, gpuCapacity: 0, unreadGpus: '"8.5"' }, {}, { labels: {}, gpuCapacity: 0, unreadGpus: '"8.5"' }],
      'status.allocatable["nvidia.com/gpu"] of n1, n3 is "8.5", which is no whole number from 0 to 1,024: as many GPUs as a node can have. Counted as no GPUs',
      ['n1', 'n3'],
    ],
    [
      'two nodes of one name',
      [{ labels: {}, name: 'twin' }, {}, { labels: {}, name: 'twin', gpuCapacity: 4 }],
      'metadata.name of more than one node is twin: names of nodes are unique. Of each the last in the list counts',
      ['twin'],
    ],
    [
      'a value that is none',
      [topograph('\u001b[2J')],
      'Label fabric.topograph.run/tier-0 of n1 is no value that a label can have',
      ['n1'],
    ],
    [
      'more tiers than are read',
      [topograph(...Array.from({ length: 10_000 }, (_, tier) => `s${tier}`))],
      'Nodes n1 tell more than 8 tiers of switches',
      ['n1'],
    ],
  ])('%s is told once', (_sentence, given, want, nodes) => {
    const problems = fabricProblems(factsOf(...given));
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain(want);
    expect(problems[0]?.nodes).toEqual(nodes);
  });

  it.each<[string, Given]>([
    ['no labels at all', [{}, {}]],
    [
      'CoreWeave, which counts leaf groups and superpods from 1',
      [
        ['1', '2'],
        ['2', '1'],
      ].map(([leafgroup = '', superpod = '']) => ({
        'backend.coreweave.cloud/leafgroup': leafgroup,
        'backend.coreweave.cloud/superpod': superpod,
      })),
    ],
    ['one producer that divides finer than another', [...domains(['a', 'x'], ['b', 'x'], ['c', 'y'])]],
    ['a node that says less than the others', [topograph('l', 's'), topograph('l'), {}]],
    [
      'racks of two zones below one core',
      [
        { ...topograph('l', 's', 'c'), 'topology.kubernetes.io/zone': 'a' },
        { ...topograph('m', 's', 'c'), 'topology.kubernetes.io/zone': 'b' },
      ],
    ],
    [
      'rdma/ib beside a label that says RoCE',
      [{ labels: { 'backend.coreweave.cloud/flavor': 'roce' }, devices: { 'rdma/ib': 1 } }],
    ],
    [
      'DRA that says the same as our label',
      [
        {
          labels: { [NODE_LABELS.nicType]: 'RoCE' },
          draDevices: [{ 'dra.net/rdma': true, 'dra.net/encapsulation': 'ether' }],
        },
      ],
    ],
    [
      'no RDMA for NICs that need none',
      [{ [NODE_LABELS.nicType]: 'ethernet', 'feature.node.kubernetes.io/rdma.capable': 'false' }],
    ],
  ])('%s is none', (_sentence, given) => {
    expect(fabricProblems(factsOf(...given))).toEqual([]);
  });

  it('thousands of contradictions are told by a few', () => {
    const nodes = factsOf(
      ...Array.from({ length: 4_000 }, (_, index) => ({
        ...topograph(`l${index >> 1}`, `s${index}`),
        [CLIQUE]: `u.${index >> 1}`,
        [NODE_LABELS.nicIsland]: `i${index}`,
      })),
    );
    const problems = fabricProblems(nodes);
    expect(problems).toHaveLength(MAX_FABRIC_PROBLEMS);
    expect(JSON.stringify(problems).length).toBeLessThan(20_000);
  });

  it('a chain of 10,000 switches is no circle, and looked through in time', () => {
    const nodes = factsOf(...Array.from({ length: 10_000 }, (_, index) => topograph(`s${index}`, `s${index + 1}`)));
    expect(fabricProblems(nodes)).toEqual([]);
  });
});
