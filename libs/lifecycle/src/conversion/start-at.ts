/** From which save does a gang of this layout begin, and what has to be done before? */
import type { Checkpoint, JobConversion } from '@coxswain/api-types';
import {
  convertedName,
  describeLoadRefusal,
  isGood,
  layoutToLoad,
  neededConversion,
  type NeededConversion,
  recordedSave,
} from '@coxswain/checkpoint';
import { type ParallelLayout, worldSize } from '@coxswain/layout';
import {
  loadRefusal,
  noPoint,
  restorableCheckpoints,
  resumePointOf,
  type UsablePoint,
} from '../failure/resume-point.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { type ChosenWay, chooseWay } from './choose-way.ts';
import { conversionState, type ConversionState } from './converted-save.ts';

/** How a gang of a layout begins. */
export type Start =
  | UsablePoint
  /** A pod converts the save first. No GPU is held meanwhile. */
  | {
      readonly kind: 'converting';
      readonly conversion: Omit<JobConversion, 'wantedSince'>;
      readonly message: string;
    }
  | {
      readonly kind: 'none';
      readonly message: string;
      /** The layout that saved it has so many GPUs, and to wait for them costs less, or nothing converts the save. */
      readonly otherGpus?: number;
      /** To wait costs less now. It costs more the longer it takes. */
      readonly isWait?: true;
    };

/** The save that is to be loaded, and the layout that does not load it as it is. */
interface Unloadable {
  readonly record: JobRecord;
  readonly facts: Facts;
  readonly layout: ParallelLayout;
  readonly now: Date;
  readonly point: UsablePoint & { readonly kind: 'checkpoint' };
  readonly needed: NeededConversion;
  readonly state: ConversionState;
}

/**
 * Where a gang of this layout begins. A save that loads as it is is never converted. Where no pod can convert a save, a user has to choose between checkpoint and
 * layout.
 */
export function startAt(
  record: JobRecord,
  facts: Facts,
  { layout, now }: { readonly layout: ParallelLayout; readonly now: Date },
): Start {
  const point = resumePointOf(record, facts);
  if (point.kind !== 'checkpoint') return point;
  const { checkpoint } = point;
  // A user can name a converted save: the engine then loads the universal format, whatever the layout states.
  const isConverted = checkpoint.spec.convertedFrom !== undefined;
  const refusal = loadRefusal(point, isConverted ? layoutToLoad(layout, checkpoint.spec.format) : layout);
  if (refusal === undefined) return point;
  const needed = neededConversion(recordedSave(checkpoint), layout, checkpoint.spec);
  if (needed === undefined) return { kind: 'none', message: noPoint(refusal, record, facts) };
  const name = convertedName(checkpoint.metadata.name, needed.format);
  const converted = facts.checkpoints.find(({ metadata }) => metadata.name === name);
  const state = conversionState(checkpoint, converted, { record, now });
  if (state.kind === 'usable') return { ...point, checkpoint: state.checkpoint };
  return wayFrom({ record, facts, layout, now, point, needed, state }, refusal);
}

function wayFrom(about: Unloadable, refusal: string): Start {
  const { record, facts, point, state } = about;
  const { name } = point.checkpoint.metadata;
  const failure = state.kind === 'failed' ? ` Its conversion ${state.why}.` : '';
  const isConvertible = state.kind !== 'failed' && isGood(point.checkpoint);
  // A conversion that has begun goes on, although the price of the others changes meanwhile.
  const before = record.conversion;
  if (isConvertible && before?.wantedSince !== undefined && before.checkpoint === name)
    return convertingOf(about, refusal, before.because);
  const older = point.answers === undefined ? olderThatLoads(about) : undefined;
  const chosen = chooseWay(questionOf(about, isConvertible, older));
  switch (chosen?.way) {
    case 'Convert':
      return convertingOf(about, refusal, chosen.says);
    case 'GoBack':
      return older === undefined ? noneOf(about, `${refusal}${failure}`) : { kind: 'checkpoint', checkpoint: older };
    case 'Wait':
      return { ...noneOf(about, `${refusal}${failure} ${chosen.says}`), isWait: true };
    case undefined:
      return { kind: 'none', message: noPoint(`${refusal}${failure}`, record, facts), ...otherGpus(about) };
  }
}

function convertingOf({ point, needed, state }: Unloadable, refusal: string, because: ChosenWay['says']): Start {
  const { name } = point.checkpoint.metadata;
  const problem = state.kind === 'running' && state.problem !== undefined ? ` Now: ${state.problem}.` : '';
  return {
    kind: 'converting',
    conversion: { checkpoint: name, converted: convertedName(name, needed.format), kind: needed.kind, because },
    message: `${refusal} A pod converts it, and no GPU is held meanwhile. ${because}${problem}`,
  };
}

function noneOf(about: Unloadable, message: string): Start & { readonly kind: 'none' } {
  return { kind: 'none', message, ...otherGpus(about) };
}

function otherGpus({ facts, layout, point }: Unloadable): { readonly otherGpus?: number } {
  const gpus = worldSize(point.checkpoint.spec.layout);
  const { gpus: most, minGpus } = facts.spec ?? {};
  const isAllowed = most !== undefined && minGpus !== undefined && gpus >= minGpus && gpus <= most;
  return isAllowed && gpus !== worldSize(layout) ? { otherGpus: gpus } : {};
}

/** The newest older save that the layout loads as it is, and that nothing is held against. */
function olderThatLoads({ record, facts, layout, point }: Unloadable): Checkpoint | undefined {
  return restorableCheckpoints(record, facts).find(
    (one) =>
      one.spec.step < point.checkpoint.spec.step &&
      isGood(one) &&
      describeLoadRefusal(recordedSave(one), layout) === undefined,
  );
}

function questionOf(
  about: Unloadable,
  isConvertible: boolean,
  older: Checkpoint | undefined,
): Parameters<typeof chooseWay>[0] {
  const { record, layout, point, needed } = about;
  const { metadata, spec } = point.checkpoint;
  const { otherGpus: others } = otherGpus(about);
  const waitedSeconds = secondsSinceLastEnd(about);
  const gpuSecondsPerStep = gpuSecondsOfStep(record);
  const rate = measuredRate(about);
  return {
    gpus: worldSize(layout),
    newest: { name: metadata.name, step: spec.step },
    ...(isConvertible
      ? {
          convert: {
            ...(needed.bytes === undefined ? {} : { bytes: needed.bytes }),
            bytesPerSecond: rate ?? needed.bytesPerSecond,
            isMeasured: rate !== undefined,
          },
        }
      : {}),
    ...(older === undefined
      ? {}
      : {
          goBack: {
            name: older.metadata.name,
            step: older.spec.step,
            ...(gpuSecondsPerStep === undefined ? {} : { gpuSecondsPerStep }),
          },
        }),
    ...(others === undefined || others <= worldSize(layout) || waitedSeconds === undefined
      ? {}
      : { wait: { gpus: others, waitedSeconds } }),
  };
}

/** Since the last attempt ended. Without an end nothing says how long GPUs have been missing. */
function secondsSinceLastEnd({ record, now }: Unloadable): number | undefined {
  const { endedAt } = record.attempts.at(-1) ?? {};
  const ms = endedAt === undefined ? NaN : now.getTime() - Date.parse(endedAt);
  return ms >= 0 ? ms / 1_000 : undefined;
}

/** Measured by the newest attempt that completed steps. */
function gpuSecondsOfStep({ attempts }: JobRecord): number | undefined {
  const measured = attempts.findLast(({ pace }) => (pace?.steps ?? 0) > 0);
  if (measured?.pace === undefined) return undefined;
  return (measured.pace.inStepsMs / measured.pace.steps / 1_000) * worldSize(measured.layout);
}

/**
 * Bytes per second of the last conversion that this job sees. What is written is as large as the save. A converter reads it more than once, and one that
 * failed early or found its work done was not measured.
 */
function measuredRate({ facts }: Unloadable): number | undefined {
  const rates = facts.checkpoints.flatMap(({ status }) => {
    const { convertedAt, writtenBytes = 0, seconds = 0 } = status?.conversion ?? {};
    return convertedAt !== undefined && writtenBytes > 0 && seconds > 0 ? [writtenBytes / seconds] : [];
  });
  return rates.at(-1);
}
