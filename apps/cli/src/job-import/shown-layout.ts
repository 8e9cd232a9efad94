import type { TrainingJobSpecInput } from '@coxswain/api-types';

/** `layout.tensorParallelDegree 8, layout.expert.expertParallelDegree 4`: fields of a layout in a line. */
export function shownLayout(layout: NonNullable<TrainingJobSpecInput['layout']>): string {
  return shownFields(layout, 'layout').join(', ');
}

function shownFields(value: object, path: string): readonly string[] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null
      ? shownFields(inner, `${path}.${key}`)
      : [`${path}.${key} ${String(inner)}`],
  );
}
