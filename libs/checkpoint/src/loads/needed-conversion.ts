/** Which conversion by a pod makes a save loadable, and what does it take? */
import { type CheckpointBucket, isAdopted } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { formatBytes, formatDuration } from '@coxswain/units';
import type { ConverterKind } from '../formats/checkpoint-format.ts';
import { judgeLoad } from './judge-load.ts';
import { isOwnSave, type SavePlace } from '../paths.ts';
import type { KnownSave } from './known-save.ts';

/** A conversion that Coxswain can do. */
export interface NeededConversion {
  readonly kind: ConverterKind;
  /** Ends the names of what is made, such as `universal`. */
  readonly format: string;
  /** Absent: not known. */
  readonly bytes?: number;
  readonly bytesPerSecond: number;
  /** Why the save does not load as it is: a sentence without its subject ("was saved as ..."). */
  readonly because: string;
}

/** A save in a bucket is downloaded, converted and uploaded. Each of them is assumed to be as fast as a conversion on a claim. */
const PASSES_IN_BUCKET = 3;

/** Where the save is, and which run saved it. */
export type ConvertedPlace = SavePlace & { readonly bucket?: CheckpointBucket | undefined };

/** Names of what converters write. A kind that is not here is done by no pod yet. */
const FORMATS: Readonly<Record<string, string>> = { DeepSpeedUniversal: 'universal' };

/** Name of what conversions of that kind write; undefined: no pod does them. */
export function conversionFormat(kind: string): string | undefined {
  return Object.hasOwn(FORMATS, kind) ? FORMATS[kind] : undefined;
}

/**
 * The conversion that makes the save loadable at the layout; undefined: it loads as it is, or no pod can convert it, or a user adopted it.
 */
export function neededConversion(
  saved: KnownSave,
  layout: ParallelLayout,
  place: ConvertedPlace,
): NeededConversion | undefined {
  const { verdict, because, conversion } = judgeLoad(saved, { layout });
  const { kind, isStated, bytes, bytesPerSecond = 0 } = conversion ?? {};
  const format = kind === undefined ? undefined : conversionFormat(kind);
  if (verdict !== 'needs conversion' || isStated === true) return undefined;
  // The folder of the converted save is made beside it, and beside files of a user Coxswain makes nothing.
  if (isAdopted({ spec: place }) || !isOwnSave(place)) return undefined;
  if (kind === undefined || format === undefined) return undefined;
  const passes = place.bucket === undefined ? 1 : PASSES_IN_BUCKET;
  return { kind, format, bytesPerSecond: bytesPerSecond / passes, because, ...(bytes === undefined ? {} : { bytes }) };
}

/** `needs conversion: 3.3 GiB, about 10.0 s` */
export function describeConversion({
  bytes,
  bytesPerSecond,
}: Pick<NeededConversion, 'bytes' | 'bytesPerSecond'>): string {
  if (bytes === undefined) return 'needs conversion: its size is not known';
  return `needs conversion: ${formatBytes(bytes)}, about ${formatDuration((bytes / bytesPerSecond) * 1_000)}`;
}
