/** What costs the fewest GPU-seconds: to convert the newest save, to go back to an older one, or to wait for the GPUs of its layout? */
import { formatBytes, formatCount, formatDuration } from '@coxswain/units';

/** A way on from a save that the layout does not load. */
export type Way = 'Convert' | 'GoBack' | 'Wait';

/** The ways that there are, with what their prices follow from. */
export interface WayQuestion {
  /** GPUs of the layout. They are free and could train. */
  readonly gpus: number;
  /** The newest save. */
  readonly newest: { readonly name: string; readonly step: number };
  /** Absent: no pod converts it, or a conversion of it failed. */
  readonly convert?: {
    /** Absent: not known. */
    readonly bytes?: number;
    readonly bytesPerSecond: number;
    /** The rate was measured in an earlier conversion of the job. Else it is an assumption. */
    readonly isMeasured: boolean;
  };
  /** The newest older save that the layout loads; absent: there is none. */
  readonly goBack?: {
    readonly name: string;
    readonly step: number;
    /** Absent: no step was measured. */
    readonly gpuSecondsPerStep?: number;
  };
  /** Absent: nothing will bring GPUs for the layout of the newest save, because a user chose another layout. */
  readonly wait?: {
    readonly gpus: number;
    /** For so long the job has waited for them. */
    readonly waitedSeconds: number;
  };
}

/** The cheapest way, and what each costs. */
export interface ChosenWay {
  readonly way: Way;
  /** Of each way that there is. undefined: not known. */
  readonly gpuSeconds: Readonly<Partial<Record<Way, number | undefined>>>;
  /** Sentences with all prices. */
  readonly says: string;
}

/** At the same price, the way that loses the least comes first. */
const IN_ORDER: readonly Way[] = ['Convert', 'GoBack', 'Wait'];

/**
 * The cheapest way; undefined: there is none. Each is priced by the training that does not happen: a conversion and a wait leave the GPUs of the layout idle, and
 * to go back repeats steps. How long GPUs will be missing is not known: as long again as they have been missing is assumed. A price that is not known counts as
 * the highest.
 */
export function chooseWay(question: WayQuestion): ChosenWay | undefined {
  const gpuSeconds = pricesOf(question);
  const ways = IN_ORDER.filter((way) => Object.hasOwn(gpuSeconds, way));
  const priceOf = (way: Way): number => gpuSeconds[way] ?? Infinity;
  const [way] = ways.toSorted((one, other) => priceOf(one) - priceOf(other));
  if (way === undefined) return undefined;
  return { way, gpuSeconds, says: ways.map((one) => describe(one, question, gpuSeconds[one])).join(' ') };
}

function pricesOf({ gpus, newest, convert, goBack, wait }: WayQuestion): ChosenWay['gpuSeconds'] {
  return {
    ...(convert === undefined ? {} : { Convert: times(secondsOf(convert), gpus) }),
    ...(goBack === undefined ? {} : { GoBack: times(goBack.gpuSecondsPerStep, newest.step - goBack.step) }),
    ...(wait === undefined ? {} : { Wait: times(wait.waitedSeconds, gpus) }),
  };
}

function secondsOf({ bytes, bytesPerSecond }: NonNullable<WayQuestion['convert']>): number | undefined {
  return bytes === undefined || !(bytesPerSecond > 0) ? undefined : bytes / bytesPerSecond;
}

function times(one: number | undefined, count: number): number | undefined {
  return one === undefined || !Number.isFinite(one * count) ? undefined : Math.max(0, one * count);
}

function describe(way: Way, { newest, convert, goBack, wait, gpus }: WayQuestion, price: number | undefined): string {
  const cost = price === undefined ? 'an unknown number of GPU-seconds' : formatCount(Math.ceil(price), 'GPU-second');
  if (way === 'Convert') {
    const seconds = convert && secondsOf(convert);
    const rate = convert?.isMeasured === true ? 'as measured before' : 'at an assumed rate';
    const size = convert?.bytes === undefined ? 'of unknown size' : formatBytes(convert.bytes);
    const time = seconds === undefined ? '' : `, about ${formatDuration(seconds * 1_000)} ${rate}`;
    return `To convert checkpoint ${newest.name} (${size}${time}) costs ${cost}, while ${formatCount(gpus, 'GPU')} could train.`;
  }
  if (way === 'GoBack')
    return `To go back to checkpoint ${goBack?.name ?? ''} (step ${goBack?.step ?? 0}) costs ${cost}, to repeat ${formatCount(newest.step - (goBack?.step ?? 0), 'step')}.`;
  return `To wait for ${formatCount(wait?.gpus ?? 0, 'GPU')} costs ${cost}, if it takes as long again as so far (${formatDuration((wait?.waitedSeconds ?? 0) * 1_000)}).`;
}
