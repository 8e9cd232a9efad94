import { isSameLayout, isSameRequest, type ResumeFrom, type TrainingJobSpec } from '@coxswain/api-types';

/**
 * The next change of the spec toward what was asked; undefined when there is none. Cancel goes alone: it beats whatever else was asked.
 * A new layout needs a suspended job, so a job that runs is suspended first and the rest follows in the next round.
 */
export function changeToward(
  wanted: TrainingJobSpec,
  present: TrainingJobSpec,
): { readonly change: SpecChange | undefined; readonly isComplete: boolean } {
  if (wanted.cancel) return { change: present.cancel ? undefined : { cancel: true }, isComplete: true };
  const layoutDiffers =
    !isSameLayout(wanted.layout, present.layout) || wanted.gpus !== present.gpus || wanted.minGpus !== present.minGpus;
  if (layoutDiffers && !present.suspend) return { change: { suspend: true }, isComplete: false };
  const requestDiffers = !isSameRequest(wanted.resumeFrom, present.resumeFrom);
  if (!layoutDiffers && !requestDiffers && wanted.suspend === present.suspend) {
    return { change: undefined, isComplete: true };
  }
  const division = layoutDiffers ? divisionChange(wanted, present) : {};
  // In the same write as the end of the suspension: a gang must not begin elsewhere in between.
  const request = requestDiffers && wanted.resumeFrom !== undefined ? { resumeFrom: wanted.resumeFrom } : {};
  return { change: { suspend: wanted.suspend, ...division, ...request }, isComplete: true };
}

/** Part of a JSON merge patch (RFC 7396) of the spec: null removes. */
interface SpecChange {
  readonly suspend?: boolean;
  readonly cancel?: boolean;
  readonly layout?: unknown;
  readonly gpus?: number | null;
  readonly minGpus?: number | null;
  readonly resumeFrom?: ResumeFrom;
}

/** A layout takes the place of a number of GPUs, and the other way round. */
function divisionChange(
  wanted: TrainingJobSpec,
  present: TrainingJobSpec,
): Pick<SpecChange, 'layout' | 'gpus' | 'minGpus'> {
  const least = present.minGpus === wanted.minGpus ? {} : { minGpus: wanted.minGpus ?? null };
  if (wanted.layout === undefined) return { layout: null, gpus: wanted.gpus ?? null, ...least };
  return {
    layout: replacing(present.layout, wanted.layout),
    ...(present.gpus === undefined ? {} : { gpus: null }),
    ...least,
  };
}

/** A merge patch merges objects, so what is there and not wanted has to be named to be removed. */
function replacing(present: unknown, wanted: unknown): unknown {
  if (!isObject(present) || !isObject(wanted)) return wanted;
  const removed = Object.keys(present).filter((key) => wanted[key] === undefined);
  return Object.fromEntries([
    ...Object.entries(wanted).map(([key, value]) => [key, replacing(present[key], value)]),
    ...removed.map((key) => [key, null]),
  ]) as unknown;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
