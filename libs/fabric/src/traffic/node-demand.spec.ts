import type { NodeFacts } from '../nodes/fabric.ts';
import { isSchedulable, type NodeDemand, nodesFor } from './node-demand.ts';
import { fabricFromNodes, placeGang } from '../index.ts';
import { aLayout } from '@coxswain/layout/testing';

const node = (name: string, more: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  labels: {},
  gpuCapacity: 8,
  schedulable: true,
  ready: true,
  ...more,
});
const demand = (more: Partial<NodeDemand> = {}): NodeDemand => ({
  nodeSelector: {},
  tolerations: [],
  devices: {},
  ...more,
});
const EFA = 'vpc.amazonaws.com/efa';

describe('the nodes that a job’s pods can run on', () => {
  it.each<
    [string, Partial<NodeDemand>, readonly NodeFacts[], [suitable: readonly string[], leftOut: string | undefined]]
  >([
    ['are all, where nothing is asked', {}, [node('a'), node('b')], [['a', 'b'], undefined]],
    [
      'carry the labels that are asked for',
      { nodeSelector: { pool: 'x' } },
      [node('a', { labels: { pool: 'x' } }), node('b', { labels: { pool: 'y' } }), node('c')],
      [['a'], "2 GPU nodes do not suit the job's runtime: 2 have no label pool=x."],
    ],
    [
      'have the devices that are asked for',
      { devices: { [EFA]: 32 } },
      [node('a', { devices: { [EFA]: 32 } }), node('b', { devices: { [EFA]: 31 } }), node('c')],
      [
        ['a'],
        "2 GPU nodes do not suit the job's runtime: 1 has 31 of 32 vpc.amazonaws.com/efa, 1 has no vpc.amazonaws.com/efa.",
      ],
    ],
    [
      'are told of only where they have GPUs',
      { nodeSelector: { pool: 'x' } },
      [node('a', { gpuCapacity: 0 })],
      [[], undefined],
    ],
  ])('%s', (_what, asked, nodes, [suitable, leftOut]) => {
    const found = nodesFor(demand(asked), nodes);
    expect(found.nodes.map(({ name }) => name)).toEqual(suitable);
    expect(found.leftOut).toBe(leftOut);
  });

  it('are told of by their most frequent faults', () => {
    const nodes = ['a', 'a', 'a', 'b', 'b', 'c', 'd'].map((fault, index) =>
      node(`node-${index}`, {
        labels: Object.fromEntries(['a', 'b', 'c', 'd'].filter((one) => one !== fault).map((one) => [one, '1'])),
      }),
    );
    const nodeSelector = { a: '1', b: '1', c: '1', d: '1' };
    expect(nodesFor(demand({ nodeSelector }), nodes).leftOut).toBe(
      "7 GPU nodes do not suit the job's runtime: 3 have no label a=1, 2 have no label b=1, 1 has no label c=1, 1 for other reasons.",
    );
  });

  it('are named where a gang cannot be placed because of them', () => {
    const { nodes, leftOut } = nodesFor(demand({ devices: { [EFA]: 32 } }), [
      node('a', { devices: { [EFA]: 32 } }),
      node('b', { devices: { [EFA]: 31 } }),
    ]);
    const capacity = {
      fabric: fabricFromNodes(nodes),
      usedGpus: new Map(),
      ...(leftOut === undefined ? {} : { leftOut }),
    };
    expect(placeGang({ layout: aLayout({ dataParallelDegree: 16 }) }, capacity)).toEqual({
      kind: 'waiting',
      message:
        "Needs 16 GPUs; the nodes that suit the job have 8 in all. It would start now if you lower layout.dataParallelDegree from 16 to 8. 1 GPU node does not suit the job's runtime: 1 has 31 of 32 vpc.amazonaws.com/efa.",
    });
  });
});

describe('whether a node takes a pod', () => {
  const tainted = (...effects: readonly string[]): NodeFacts =>
    node('a', { schedulable: false, taints: effects.map((effect) => ({ key: 'sku', value: 'gpu', effect })) });
  it.each<[string, NodeFacts, NodeDemand['tolerations'], boolean]>([
    ['it has no taint', node('a'), [], true],
    ['its taint is not tolerated', tainted('NoSchedule'), [], false],
    ['its taint is tolerated by key', tainted('NoSchedule'), [{ key: 'sku', operator: 'Exists' }], true],
    ['by value', tainted('NoSchedule'), [{ key: 'sku', value: 'gpu' }], true],
    ['not by another value', tainted('NoSchedule'), [{ key: 'sku', value: 'cpu' }], false],
    ['not by another key', tainted('NoSchedule'), [{ key: 'pool', operator: 'Exists' }], false],
    ['by everything', tainted('NoExecute'), [{ operator: 'Exists' }], true],
    ['not by an empty key without Exists', tainted('NoSchedule'), [{ value: 'gpu' }], false],
    ['not for another effect', tainted('NoExecute'), [{ key: 'sku', operator: 'Exists', effect: 'NoSchedule' }], false],
    [
      'one of two is not',
      tainted('NoSchedule', 'NoExecute'),
      [{ key: 'sku', operator: 'Exists', effect: 'NoSchedule' }],
      false,
    ],
    ['an operator that is none', tainted('NoSchedule'), [{ key: 'sku', operator: 'In', value: 'gpu' }], false],
    ['somebody cordoned it', { ...tainted('NoSchedule'), isCordoned: true }, [{ operator: 'Exists' }], false],
  ])('%s', (_what, facts, tolerations, takes) => {
    expect(isSchedulable(facts, { tolerations })).toBe(takes);
  });
});
