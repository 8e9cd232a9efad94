/** How the form shows and changes the number of GPUs, which is in `spec.gpus` or follows from `spec.layout`. */
import { formatLayout, ParallelLayout, worldSize } from '@coxswain/layout';
import { valueIn, withField } from './job-draft.ts';

/** `field`: what a number is written to. `layout`: the layout in words, which only the YAML changes. */
export type GpusInput =
  | { readonly field: string; readonly layout?: undefined }
  | { readonly field?: undefined; readonly layout: string; readonly gpus: number };

const GPUS = 'spec.gpus';
const LAYOUT = 'spec.layout';
const DATA_PARALLEL = `${LAYOUT}.dataParallelDegree`;

/** A layout of data-parallel ranks alone has as many GPUs as they are, so their number is edited. */
export function gpusInput(request: unknown): GpusInput {
  const given = valueIn(request, LAYOUT);
  if (given === undefined || given === 'auto') return { field: GPUS };
  const layout = ParallelLayout.safeParse(given);
  if (!layout.success) return { field: DATA_PARALLEL };
  const gpus = worldSize(layout.data);
  return gpus === layout.data.dataParallelDegree
    ? { field: DATA_PARALLEL }
    : { layout: formatLayout(layout.data), gpus };
}

/** Whether the planner can choose a layout: it divides a model, for a training. */
export function canPlan(request: unknown): boolean {
  return valueIn(request, 'spec.model') !== undefined && valueIn(request, 'spec.training') !== undefined;
}

/** The text without its layout: the planner chooses one for as many GPUs. */
export function withPlannedLayout(text: string, request: unknown): string {
  const layout = ParallelLayout.safeParse(valueIn(request, LAYOUT));
  return withField(withField(text, LAYOUT, undefined), GPUS, layout.success ? worldSize(layout.data) : 1);
}
