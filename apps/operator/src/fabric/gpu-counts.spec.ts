import { NODE_LABELS } from '@coxswain/api-types';
import { aCapacity, aNode } from '@coxswain/lifecycle/testing';
import { countGpus } from './gpu-counts.ts';

const typed = (name: string, type: string, more: object = {}) => {
  const node = aNode({ name, gpuCapacity: 8, ...more });
  return { ...node, labels: { ...node.labels, [NODE_LABELS.gpuType]: type } };
};

describe('free GPUs', () => {
  it('are those that nothing holds, on nodes that can be used, by type', () => {
    const nodes = [typed('a', 'H100'), typed('b', 'H100'), typed('c', 'A100'), typed('d', 'A100', { ready: false })];
    const { freeGpus, gpuTypes } = countGpus(aCapacity([...nodes, aNode({ name: 'e' })], { a: 6, c: 9 }));
    expect([freeGpus, gpuTypes]).toEqual([
      12,
      [
        { type: 'A100', total: 16, free: 0 },
        { type: 'H100', total: 16, free: 10 },
        { type: 'unlabelled', total: 2, free: 2 },
      ],
    ]);
  });
});
