import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec } from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import type { LayoutTraffic } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import { parsePlanRequest } from '@coxswain/planner';
import { layoutTraffic } from './layout-traffic.ts';
import { plannerView } from './planner-view.ts';

/** Bytes do not depend on the GPU. */
const ANY_GPU = 'h100';

/** Specs come from a cache and are placed again at each reconcile while a gang waits; that of 16,384 ranks takes tenths of a second. */
const known = new WeakMap<EffectiveSpec['layout'], Pick<EffectiveSpec, 'model' | 'training'> & Answer>();

/** As much of a job as its bytes depend on. */
export type SpecOfTraffic = Pick<EffectiveSpec, 'layout' | 'model' | 'training' | 'engine'>;

interface Answer {
  readonly traffic: LayoutTraffic | undefined;
}

/** What the ranks of a job send each other in a step, as the planner has it; undefined where the job says too little, or the planner has no words for its layout. */
export function jobTraffic(spec: SpecOfTraffic): LayoutTraffic | undefined {
  const { layout, model, training } = spec;
  const before = known.get(layout);
  if (before !== undefined && before.model === model && before.training === training) return before.traffic;
  const traffic = planned(spec);
  known.set(layout, { model, training, traffic });
  return traffic;
}

function planned(spec: SpecOfTraffic): LayoutTraffic | undefined {
  const view = plannerView(spec);
  if (view === undefined) return undefined;
  const { layout } = spec;
  const { microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = spec.training ?? {};
  try {
    const request = parsePlanRequest({ ...view, cluster: { gpu: ANY_GPU, gpus: worldSize(layout) } });
    return layoutTraffic(request, { layout, microBatchSize });
  } catch (error) {
    if (isDomainError(error)) return undefined;
    throw error;
  }
}
