/** Rejects options of a request that contradict its model, engine or GPUs. */
import type { Violation } from '@coxswain/domain-error';
import { type ModelShape, whyNoPacking, WITH_PACKING } from '@coxswain/layout';
import type { PlanRequest } from '../contract.ts';
import { engineOfStack } from './engine-choices.ts';
import { enginePins } from './engine-pins.ts';
import { formatsOf, type GpuFormats } from './gpu-formats.ts';
import { pipelinePins } from './pipeline-pins.ts';

type NamedGpu = GpuFormats & { readonly title: string };

interface AskedOf {
  readonly model: ModelShape;
  readonly gpu: NamedGpu;
  /** The GPU of each island. */
  readonly islandGpus: readonly NamedGpu[];
}

/** One violation for each contradiction. */
export function contradictionsOf(request: PlanRequest, asked: AskedOf): readonly Violation[] {
  return [
    ...expertPins(request, asked.model),
    ...enginePins(request),
    ...pipelinePins(request),
    ...mixedDocuments(request),
    ...missingFormat(request.precision, [asked.gpu, ...asked.islandGpus]),
  ];
}

/** An engine whose attention spans the sample cannot be priced as if it did not. */
function mixedDocuments({ packing, stack }: PlanRequest): readonly Violation[] {
  const engine = packing && stack !== undefined ? engineOfStack(stack) : undefined;
  const why = engine && whyNoPacking(engine, stack?.split(' ')[1]);
  if (why === undefined) return [];
  return [
    { pointer: '/packing', detail: `${engine} does not keep attention within documents: ${why}; ${WITH_PACKING}` },
  ];
}

function expertPins({ pinned }: PlanRequest, model: ModelShape): readonly Violation[] {
  const pins = [
    ['expert', pinned?.expert],
    ['expertTensor', pinned?.expertTensor],
  ] as const;
  return pins.flatMap(([name, degree]) => {
    if (degree === undefined) return [];
    const pointer = `/pinned/${name}`;
    if (model.experts === undefined && degree > 1)
      return [{ pointer, detail: `${name} ${degree} needs a model with experts, but the model has none; remove it` }];
    const count = model.experts?.count ?? 1;
    if (name === 'expert' && count % degree !== 0)
      return [
        {
          pointer,
          detail: `expert ${degree} does not divide the ${count} experts of the model; ${divisorBeside(count, degree)}`,
        },
      ];
    return [];
  });
}

function divisorBeside(whole: number, wanted: number): string {
  let below = Math.min(wanted, whole);
  while (whole % below !== 0) below--;
  return `the nearest below is ${below}`;
}

function missingFormat(precision: PlanRequest['precision'], gpus: readonly NamedGpu[]): readonly Violation[] {
  const gpu = precision && gpus.find((one) => !formatsOf(one).includes(precision));
  if (gpu === undefined) return [];
  return [
    {
      pointer: '/precision',
      detail: `${gpu.title} does not support ${precision}; use one of ${formatsOf(gpu).join(', ')}`,
    },
  ];
}
