/** Which conversion by a pod makes a save loadable, and what does it take? */
import type { CheckpointBucket } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { formatBytes, formatDuration } from '@coxswain/units';
import type { ConverterKind } from '../formats/checkpoint-format.ts';
import { judgeLoad } from './judge-load.ts';
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

/** Names of what converters write. A kind that is not here is done by no pod yet. */
const FORMATS: Partial<Record<ConverterKind, string>> = { DeepSpeedUniversal: 'universal' };

/**
 * The conversion that makes the save loadable at the layout; undefined: it loads as it is, no pod can convert it, or it is in a bucket, from which no pod converts.
 */
export function neededConversion(
  saved: KnownSave,
  layout: ParallelLayout,
  { bucket }: { readonly bucket?: CheckpointBucket | undefined },
): NeededConversion | undefined {
  const { verdict, because, conversion } = judgeLoad(saved, { layout });
  const { kind, isStated, bytes, bytesPerSecond = 0 } = conversion ?? {};
  const format = kind === undefined ? undefined : FORMATS[kind];
  if (verdict !== 'needs conversion' || isStated === true || bucket !== undefined) return undefined;
  if (kind === undefined || format === undefined) return undefined;
  return { kind, format, bytesPerSecond, because, ...(bytes === undefined ? {} : { bytes }) };
}

/** `needs conversion: 3.3 GiB, about 10.0 s` */
export function describeConversion({
  bytes,
  bytesPerSecond,
}: Pick<NeededConversion, 'bytes' | 'bytesPerSecond'>): string {
  if (bytes === undefined) return 'needs conversion: its size is not known';
  return `needs conversion: ${formatBytes(bytes)}, about ${formatDuration((bytes / bytesPerSecond) * 1_000)}`;
}
