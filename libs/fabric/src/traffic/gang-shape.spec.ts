import { groupsOfAxis, type ParallelLayout, worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { gangShape } from './gang-shape.ts';

const degree = fc.integer({ min: 1, max: 6 });
const anyLayout = fc
  .record({ tensor: degree, context: fc.integer({ min: 1, max: 3 }), data: degree, pipeline: degree })
  .map(({ tensor, context, data, pipeline }): ParallelLayout =>
    aLayout({
      tensorParallelDegree: tensor,
      contextParallelDegree: context,
      dataParallelDegree: data,
      pipelineParallelDegree: pipeline,
    }),
  );
const anyRanksPerPod = fc.integer({ min: 1, max: 16 });

describe('the shape of a gang', () => {
  it.each<[string, ParallelLayout, number, object]>([
    [
      'of one rank is one pod',
      aLayout(),
      1,
      { pods: 1, podsPerBlock: 1, blocksPerRow: 1, rows: 1, restBlocks: 0, restPods: 0, lastPodRanks: 1 },
    ],
    [
      'of a tensor group over two nodes is blocks of two pods',
      aLayout({ tensorParallelDegree: 16, dataParallelDegree: 2, pipelineParallelDegree: 2 }),
      8,
      { pods: 8, podsPerBlock: 2, blocksPerRow: 2, rows: 2, restBlocks: 0, restPods: 0, lastPodRanks: 8 },
    ],
    [
      'of two tensor groups per node is blocks of one pod',
      aLayout({ tensorParallelDegree: 4, dataParallelDegree: 6 }),
      8,
      { pods: 3, podsPerBlock: 1, blocksPerRow: 3, rows: 1, restBlocks: 0, restPods: 0, lastPodRanks: 8 },
    ],
    [
      'of tensor degree 3 on nodes of 4 is blocks of three pods, for every fourth group ends with one',
      aLayout({ tensorParallelDegree: 3, dataParallelDegree: 4 }),
      4,
      { pods: 3, podsPerBlock: 3, blocksPerRow: 1, rows: 1, restBlocks: 0, restPods: 0, lastPodRanks: 4 },
    ],
    [
      'whose last pod is not full has it as its rest',
      aLayout({ tensorParallelDegree: 4, dataParallelDegree: 3 }),
      8,
      { pods: 2, podsPerBlock: 1, rows: 0, restBlocks: 1, restPods: 1, lastPodRanks: 4 },
    ],
    [
      'of inner all-to-alls of ulysses-ring is blocks of the pods that one and its tensor groups need',
      aLayout({
        tensorParallelDegree: 4,
        contextParallelDegree: 8,
        sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 },
      }),
      8,
      { pods: 4, podsPerBlock: 2, blocksPerRow: 2, rows: 1, restBlocks: 0, restPods: 0, lastPodRanks: 8 },
    ],
    [
      'of plain ulysses is blocks of its tensor groups alone',
      aLayout({ tensorParallelDegree: 4, contextParallelDegree: 8, sequence: { contextAlgorithm: 'ulysses' } }),
      8,
      { pods: 4, podsPerBlock: 1, blocksPerRow: 4, rows: 1, restBlocks: 0, restPods: 0, lastPodRanks: 8 },
    ],
  ])('%s', (_sentence, layout, ranksPerPod, want) => {
    expect(gangShape(layout, ranksPerPod)).toMatchObject(want);
  });

  it('holds every rank once: rows, rest blocks and loose pods are all pods, and only the last may hold fewer ranks', () => {
    fc.assert(
      fc.property(anyLayout, anyRanksPerPod, (layout, asked) => {
        const ranksPerPod = Math.min(asked, worldSize(layout));
        const shape = gangShape(layout, ranksPerPod);
        const podsOfRows = shape.rows * shape.blocksPerRow * shape.podsPerBlock;
        expect(podsOfRows + shape.restBlocks * shape.podsPerBlock + shape.restPods).toBe(shape.pods);
        expect((shape.pods - 1) * ranksPerPod + shape.lastPodRanks).toBe(worldSize(layout));
        expect(shape.lastPodRanks).toBeGreaterThan(0);
        expect(shape.lastPodRanks).toBeLessThanOrEqual(ranksPerPod);
      }),
    );
  });

  it('never cuts a tensor group at the border of a block, nor a pipeline stage at the border of a row', () => {
    fc.assert(
      fc.property(anyLayout, anyRanksPerPod, (layout, asked) => {
        const ranksPerPod = Math.min(asked, worldSize(layout));
        const { podsPerBlock, blocksPerRow } = gangShape(layout, ranksPerPod);
        const blockOf = (rank: number): number => Math.floor(rank / (ranksPerPod * podsPerBlock));
        for (const group of groupsOfAxis(layout, 'tensor')) expect(new Set(group.map(blockOf)).size).toBe(1);
        const stage = worldSize(layout) / layout.pipelineParallelDegree;
        expect((ranksPerPod * podsPerBlock * blocksPerRow) % stage).toBe(0);
      }),
    );
  });

  it('never cuts them in another order of ranks either', () => {
    const orders = [
      ['data', 'tensor', 'pipeline'],
      ['pipeline', 'data', 'tensor'],
      ['tensor', 'pipeline', 'data'],
    ] as const;
    fc.assert(
      fc.property(anyLayout, anyRanksPerPod, fc.constantFrom(...orders), (drawn, asked, order) => {
        const layout = { ...drawn, rankOrder: [...order, 'context' as const] };
        const ranksPerPod = Math.min(asked, worldSize(layout));
        const { podsPerBlock, blocksPerRow } = gangShape(layout, ranksPerPod);
        const blockOf = (rank: number): number => Math.floor(rank / (ranksPerPod * podsPerBlock));
        const rowOf = (rank: number): number => Math.floor(rank / (ranksPerPod * podsPerBlock * blocksPerRow));
        for (const group of groupsOfAxis(layout, 'tensor')) expect(new Set(group.map(blockOf)).size).toBe(1);
        for (const axis of ['data', 'context'] as const) {
          for (const group of groupsOfAxis(layout, axis)) expect(new Set(group.map(rowOf)).size).toBe(1);
        }
      }),
    );
  });

  it('has the shortest blocks that do not', () => {
    fc.assert(
      fc.property(anyLayout, anyRanksPerPod, (layout, ranksPerPod) => {
        const { podsPerBlock } = gangShape(layout, ranksPerPod);
        for (let fewer = 1; fewer < podsPerBlock; fewer++) {
          expect((fewer * ranksPerPod) % layout.tensorParallelDegree).not.toBe(0);
        }
      }),
    );
  });
});
