import { gpuOf } from '@coxswain/planner/presets';

/** The name of the preset that a type of GPU means, as nodes or people call it; undefined where the planner knows none. */
export function presetOf(gpuType: string): string | undefined {
  try {
    return gpuOf(gpuType).name;
  } catch {
    return undefined;
  }
}
