import type { ParallelLayout } from '../parallel-layout.ts';
import { brokenIf, MEGATRON_FAMILY, type OptionRule } from './option-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about recomputation and offload. */
export const memoryRules: readonly OptionRule[] = [
  {
    name: 'layersOffloadAlone',
    source: `${MEGATRON} (--cpu-offloading-num-layers)`,
    statement: 'offloaded layers cannot be combined with a pipeline or full recomputation',
    check: (layout) => {
      if (!offloads(layout, 'layers')) return [];
      return [
        ...brokenIf(
          layout.pipelineParallelDegree > 1,
          'pipelineParallelDegree',
          () => `memory.offload of layers requires pipelineParallelDegree 1, not ${layout.pipelineParallelDegree}`,
        ),
        ...brokenIf(
          layout.memory?.recompute?.mode === 'full',
          'memory/recompute',
          () =>
            'memory.offload of layers cannot be combined with memory.recompute full; use selective, or offload activations instead',
        ),
      ];
    },
  },
  {
    name: 'optimizerOffloadIsPrecisionAware',
    source: `${MEGATRON} (--optimizer-cpu-offload)`,
    statement: 'optimizer offload on Megatron-LM needs precisionAwareOptimizer',
    check: (layout, { engine }) =>
      brokenIf(
        MEGATRON_FAMILY.has(engine) && offloads(layout, 'optimizer') && layout.states?.precisionAwareOptimizer !== true,
        'states/precisionAwareOptimizer',
        () => `memory.offload of the optimizer needs states.precisionAwareOptimizer true on ${String(engine)}`,
      ),
  },
  {
    name: 'hostMemoryHoldsOffload',
    source: 'this project',
    statement:
      'hostMemoryGibPerGpu times the GPUs of a node is at most the node’s host memory, and offload needs hostMemoryGibPerGpu',
    check: (layout, { hostMemoryGibPerNode: node, gpusPerNode = 1 }) => {
      const perGpu = layout.memory?.hostMemoryGibPerGpu;
      if (perGpu === undefined) {
        const isOffloading = (layout.memory?.offload ?? []).some((rule) => rule.to !== 'nvme' && rule.fraction !== 0);
        return brokenIf(
          isOffloading,
          'memory/hostMemoryGibPerGpu',
          () => 'memory.offload needs memory.hostMemoryGibPerGpu: it becomes the memory request of the pod',
        );
      }
      return brokenIf(
        node !== undefined && perGpu * gpusPerNode > node,
        'memory/hostMemoryGibPerGpu',
        () =>
          `memory.hostMemoryGibPerGpu ${perGpu} times ${gpusPerNode} GPUs is ${perGpu * gpusPerNode} GiB, but a node has ${node ?? 0} GiB; ` +
          `the most is ${Math.floor((node ?? 0) / gpusPerNode)}`,
      );
    },
  },
];

function offloads(layout: ParallelLayout, what: string): boolean {
  return (layout.memory?.offload ?? []).some((rule) => rule.what === what && rule.fraction !== 0);
}
