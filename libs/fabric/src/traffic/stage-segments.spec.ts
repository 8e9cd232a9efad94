import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { assumedTraffic } from './assumed-traffic.ts';
import { weightedBytes } from './boundary-weights.ts';
import { crossingBytes } from './crossing-bytes.ts';
import { type FabricNode, leastWeightedBytes, placeGang, replaceNodes, type StageGpus } from '../index.ts';
import type { GangRequest } from './gang-shape.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const nodes = (prefix: string, count: number, alike: Partial<FabricNode>): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) => aFabricNode({ name: `${prefix}-${index}`, gpus: 8, ...alike }));
const h100 = { gpuType: 'H100', nicType: 'infiniband', island: 'fast' };
const a100 = { gpuType: 'A100', nicType: 'roce', island: 'slow' };
const mixed = [...nodes('a', 3, a100), ...nodes('h', 5, h100)];

/** Eight stages of one node: five for H100, three for A100. */
const gang: GangRequest = {
  layout: aLayout({ tensorParallelDegree: 4, pipelineParallelDegree: 8, dataParallelDegree: 2 }),
  acrossIslands: 'anyGroup',
  stageGpus: [
    { stages: 5, gpuType: 'H100' },
    { stages: 3, gpuType: 'A100' },
  ],
};
/** `5=H100`: stages and their type. */
const parts = (...segments: readonly string[]): StageGpus[] =>
  segments.map((part) => ({ stages: Number(part.split('=')[0]), gpuType: part.split('=')[1] ?? '' }));
const typesOf = (outcome: ReturnType<typeof placeGang>): readonly string[] => {
  if (outcome.kind !== 'placed') throw new Error(outcome.message);
  return outcome.nodes.map((name) => (name.startsWith('h') ? 'H100' : 'A100'));
};
const [fast, slow] = [Array<string>(5).fill('H100'), Array<string>(3).fill('A100')];

describe('a gang whose stages are cut for two types of GPU', () => {
  it.each<[string, Partial<GangRequest>, readonly FabricNode[], readonly string[]]>([
    ['has its first stages on the one, the others on the other', {}, mixed, [...fast, ...slow]],
    ['whatever the order of nodes', {}, mixed.toReversed(), [...fast, ...slow]],
    [
      'leaves GPUs alone that would do by number, but are of the other type',
      {},
      [...mixed, ...nodes('h1', 4, h100)],
      [...fast, ...slow],
    ],
    [
      'takes as many ranks per pod as end where stages do',
      { layout: aLayout({ tensorParallelDegree: 2, pipelineParallelDegree: 8, dataParallelDegree: 2 }) },
      mixed,
      // Twenty ranks and twelve, in pods of four.
      [...fast, ...slow],
    ],
    [
      'is within islands of one class where NICs have to connect',
      { acrossIslands: 'pipeline' },
      [
        ...nodes('a', 3, { ...a100, nicType: 'infiniband' }),
        ...nodes('h', 5, { ...h100, nicType: 'roce' }),
        ...nodes('b', 3, { ...a100, island: 'z' }),
      ],
      [...fast, ...slow],
    ],
  ])('%s', (_sentence, change, fabric, want) => {
    const outcome = placeGang({ ...gang, ...change }, aFabricCapacity(fabric));
    expect(typesOf(outcome)).toEqual(want);
    if (change.acrossIslands === 'pipeline') {
      expect(outcome).toMatchObject({ nodes: expect.not.arrayContaining(['a-0']) as string[] });
    }
  });

  it.each<[string, Partial<GangRequest>, Readonly<Record<string, number>>, RegExp]>([
    [
      'of the part that lacks nodes',
      {},
      { 'a-1': 8 },
      /^Stages 6 to 8 are planned for A100 GPUs\. Needs 24 GPUs as 3 nodes with 8 free each; of 24 such GPUs 16 are free\.$/,
    ],
    [
      'of parts that would have to share a node',
      { stageGpus: parts('2=A100', '4=H100', '2=A100') },
      {},
      /^Stages 1 to 2 and 7 to 8 are planned for A100 GPUs\. Needs 32 GPUs as 4 nodes with 8 free each; of 24 such GPUs 24 are free\.$/,
    ],
    [
      'what keeps nodes apart that would do by number',
      {
        layout: aLayout({ tensorParallelDegree: 16, pipelineParallelDegree: 2 }),
        stageGpus: parts('1=A100', '1=H100'),
      },
      {},
      /^Stage 1 is planned for A100 GPUs\. Needs 16 GPUs as 2 nodes with 8 free each; of 24 such GPUs 24 are free, but not together: tensor groups need one NVLink domain\.$/,
    ],
    [
      'of NICs that cannot connect, none of whose classes has both types',
      { acrossIslands: 'pipeline' },
      {},
      /NICs of one class/,
    ],
  ])('waits, and tells %s', (_sentence, change, used, message) => {
    const outcome = placeGang({ ...gang, ...change }, aFabricCapacity(mixed, used));
    expect(outcome).toEqual({ kind: 'waiting', message: expect.stringMatching(message) as string });
  });

  it.each<[string, readonly StageGpus[], readonly string[]]>([
    [
      'that others part',
      parts('2=A100', '4=H100', '2=A100'),
      ['A100', 'A100', ...Array<string>(4).fill('H100'), 'A100', 'A100'],
    ],
    ['that follow each other', parts('2=H100', '3=H100', '3=A100'), [...fast, ...slow]],
  ])('gives parts of one type nodes of their own: %s', (_sentence, stageGpus, want) => {
    const outcome = placeGang({ ...gang, stageGpus }, aFabricCapacity([...mixed, ...nodes('a9', 1, a100)]));
    expect(typesOf(outcome)).toEqual(want);
    expect(outcome.kind === 'placed' && new Set(outcome.nodes).size).toBe(8);
  });

  it('lets the part choose first that fits fewest islands', () => {
    const fabric = [...nodes('a', 2, a100), ...nodes('h', 3, h100), ...nodes('i', 1, { ...h100, island: 'z' })].map(
      (node) => ({ ...node, nicType: 'infiniband' }),
    );
    const layout = aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 6 });
    const stageGpus = parts('1=H100', '2=A100', '3=H100');
    const outcome = placeGang({ layout, acrossIslands: 'never', stageGpus }, aFabricCapacity(fabric));
    expect(outcome).toMatchObject({ nodes: ['i-0', 'a-0', 'a-1', 'h-0', 'h-1', 'h-2'] });
  });

  it('has for nodes of two parts of one type that are gone a spare each, and none that the other part has', () => {
    const request = { ...gang, stageGpus: parts('2=A100', '4=H100', '2=A100') };
    const four = [...mixed, ...nodes('a8', 1, a100)];
    const before = placeGang(request, aFabricCapacity(four));
    if (before.kind !== 'placed') throw new Error(before.message);
    const withSpares = (count: number, ...pods: readonly number[]): readonly string[] | undefined => {
      const lost = Object.fromEntries(pods.map((pod) => [before.nodes[pod] ?? '', 8]));
      return replaceNodes(request, aFabricCapacity([...four, ...nodes('a9', count, a100)], lost), before)?.nodes;
    };
    expect(withSpares(2, 0, 7)).toEqual(before.nodes.with(0, 'a9-0').with(7, 'a9-1'));
    expect(withSpares(1, 0, 7)).toBeUndefined();
    expect(withSpares(0, 0)).toBeUndefined();
  });

  it('has for a node that is gone another of its type, and moves nobody else', () => {
    const fabric = [...mixed, ...nodes('a9', 1, a100), ...nodes('h9', 1, h100)];
    const before = placeGang(gang, aFabricCapacity(mixed));
    if (before.kind !== 'placed') throw new Error(before.message);
    const lost = before.nodes[6] ?? '';
    const after = replaceNodes(gang, aFabricCapacity(fabric, { [lost]: 8 }), before);
    expect(after?.nodes).toEqual(before.nodes.with(6, 'a9-0'));
  });

  it('finds no replacement where its type has no spare, whatever else is free', () => {
    const before = placeGang(gang, aFabricCapacity(mixed));
    if (before.kind !== 'placed') throw new Error(before.message);
    const fabric = [...mixed, ...nodes('h9', 4, h100)];
    expect(replaceNodes(gang, aFabricCapacity(fabric, { 'a-0': 8 }), before)).toBeUndefined();
  });
});

const TYPES = ['H100', 'A100'];
const someNodes: fc.Arbitrary<readonly FabricNode[]> = fc
  .array(
    fc.record({
      gpus: fc.constantFrom(2, 4, 4, 8),
      type: fc.nat(1),
      island: fc.nat(1),
      leaf: fc.nat(2),
      domain: fc.option(fc.nat(2)),
    }),
    { minLength: 6, maxLength: 20 },
  )
  .map((drawn) =>
    drawn.map(({ gpus, type, island, leaf, domain }, index) => ({
      ...aFabricNode({ name: `n${index}`, gpus, island: `i${island}`, nicType: 'roce' }),
      gpuType: TYPES[type] ?? '',
      switches: [`l${leaf}`],
      ...(domain === null ? {} : { nvlinkDomain: `d${domain}` }),
    })),
  );
const someParts: fc.Arbitrary<GangRequest> = fc
  .record({
    tensor: fc.constantFrom(1, 2, 2, 4),
    data: fc.integer({ min: 1, max: 2 }),
    stageGpus: fc.array(fc.record({ stages: fc.constantFrom(1, 1, 2), gpuType: fc.constantFrom('H100', 'A100') }), {
      minLength: 2,
      maxLength: 4,
    }),
    gpusPerNode: fc.option(fc.constantFrom(1, 2, 4)),
    acrossIslands: fc.constantFrom('never', 'pipeline', 'anyGroup', 'anyGroup'),
  })
  .map(({ tensor, data, stageGpus, gpusPerNode, acrossIslands }) => ({
    layout: aLayout({
      tensorParallelDegree: tensor,
      dataParallelDegree: data,
      pipelineParallelDegree: stageGpus.reduce((sum, { stages }) => sum + stages, 0),
    }),
    stageGpus,
    acrossIslands,
    ...(gpusPerNode === null ? {} : { gpusPerNode }),
  }));
const someUse = fc.array(fc.nat(4), { maxLength: 20 });

describe('parts on random fabrics', () => {
  it('have nodes of their types, no rank more on any than GPUs are free there, and cost no less than the bound says', () => {
    let severalOfOneType = 0;
    fc.assert(
      fc.property(someNodes, someParts, someUse, (fabric, request, use) => {
        const capacity = aFabricCapacity(fabric, Object.fromEntries(use.map((gpus, index) => [`n${index}`, gpus])));
        const outcome = placeGang(request, capacity);
        if (outcome.kind !== 'placed') return;
        const { layout, stageGpus = [] } = request;
        const { ranksPerPod, nodes: pods } = outcome;
        if (new Set(stageGpus.map(({ gpuType }) => gpuType)).size < stageGpus.length) severalOfOneType++;
        const byName = new Map(fabric.map((node) => [node.name, node]));
        const ranksOfStage = layout.tensorParallelDegree * (layout.dataParallelDegree ?? 1);
        const typeOfRank = stageGpus.flatMap(({ stages, gpuType }) =>
          Array<string>(stages * ranksOfStage).fill(gpuType),
        );
        const nodeOfRank = typeOfRank.map((_, rank) => pods[Math.floor(rank / ranksPerPod)] ?? '');
        expect(nodeOfRank.map((name) => byName.get(name)?.gpuType)).toEqual(typeOfRank);
        for (const [name, ranks] of Map.groupBy(nodeOfRank, (name) => name))
          expect(ranks.length + (capacity.usedGpus.get(name) ?? 0)).toBeLessThanOrEqual(byName.get(name)?.gpus ?? 0);
        expect(new Set(pods).size).toBe(pods.length);
        const has = weightedBytes(crossingBytes(assumedTraffic(layout), nodeOfRank, capacity.fabric));
        expect(leastWeightedBytes(request, ranksPerPod, capacity, pods)).toBeLessThanOrEqual(has * (1 + 1e-9));
      }),
      { numRuns: 500 },
    );
    expect(severalOfOneType).toBeGreaterThan(30);
  });

  it('are placed just where each type has nodes enough, if nothing else binds them', () => {
    let placed = 0;
    fc.assert(
      fc.property(someNodes, someParts, (fabric, { stageGpus = [], layout }) => {
        const request = {
          layout: { ...layout, tensorParallelDegree: 1, dataParallelDegree: 1 },
          stageGpus,
          gpusPerNode: 1,
          acrossIslands: 'anyGroup' as const,
        };
        const needs = Map.groupBy(
          stageGpus.flatMap(({ stages, gpuType }) => Array<string>(stages).fill(gpuType)),
          (gpuType) => gpuType,
        );
        const isEnough = [...needs].every(
          ([type, stages]) => fabric.filter(({ gpuType }) => gpuType === type).length >= stages.length,
        );
        if (isEnough) placed++;
        expect(placeGang(request, aFabricCapacity(fabric)).kind).toBe(isEnough ? 'placed' : 'waiting');
      }),
      { numRuns: 200 },
    );
    expect(placed).toBeGreaterThan(30);
  });
});
