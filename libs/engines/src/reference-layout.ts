import type { ParallelLayout } from '@coxswain/layout';

/** Degrees that the reference engine has a flag for. */
const DEGREES = ['tensorParallelDegree', 'pipelineParallelDegree', 'dataParallelDegree'] as const;

/** The first key of the layout that the reference engine has no flag for, with its value; a degree of 1 asks for nothing. */
export function beyondReference(layout: ParallelLayout): string | undefined {
  const extra = Object.entries(layout).find(
    ([key, value]) => !(DEGREES as readonly string[]).includes(key) && value !== undefined && value !== 1,
  );
  if (extra === undefined) return undefined;
  const [key, value] = extra;
  return typeof value === 'object' ? `layout.${key}` : `layout.${key} ${String(value)}`;
}

/** The degrees of a layout alone: all that engines without further flags are told. */
export function degreesOf(layout: ParallelLayout): ParallelLayout {
  const { tensorParallelDegree, pipelineParallelDegree, dataParallelDegree } = layout;
  return { tensorParallelDegree, pipelineParallelDegree, dataParallelDegree };
}
