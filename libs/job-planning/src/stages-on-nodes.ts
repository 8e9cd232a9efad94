/** What do nodes call the GPUs for which a plan cuts its stages? */
import type { FabricNode, StageGpus } from '@coxswain/fabric';
import type { Plan } from '@coxswain/planner';
import { presetOf } from './preset-of.ts';

/** Stages of a plan, or of a person who may as well name a type as nodes do. */
export type AskedStageGpus = NonNullable<Plan['stageGpus']>;

/**
 * The same in the words of the nodes, which have labels such as `NVIDIA-H100-80GB-HBM3` for the preset `h100-sxm5-80gb`. A problem where none has such
 * GPUs, or where labels of several types mean one preset: which of them is meant has to be said.
 */
export function stagesOnNodes(
  asked: AskedStageGpus,
  nodes: readonly FabricNode[],
): { readonly stageGpus: readonly StageGpus[] } | { readonly problem: string } {
  const types = [...new Set(nodes.flatMap(({ gpuType }) => gpuType ?? []))].sort();
  const stageGpus: StageGpus[] = [];
  for (const { stages, gpu } of asked) {
    const preset = presetOf(gpu);
    const alike = types.includes(gpu)
      ? [gpu]
      : types.filter((type) => preset !== undefined && presetOf(type) === preset);
    const [gpuType] = alike;
    if (gpuType === undefined) {
      const there = types.length === 0 ? 'no node says which GPUs it has' : `nodes have ${types.join(', ')}`;
      return { problem: `${stages} stages are for ${gpu}, and no node has such GPUs: ${there}.` };
    }
    if (alike.length > 1)
      return {
        problem: `${stages} stages are for ${gpu}, and nodes call several types so: name one of ${alike.join(', ')}.`,
      };
    stageGpus.push({ stages, gpuType });
  }
  return { stageGpus };
}
