/** How fast is a fault noticed, found and answered? Times of named systems and of our own ladder. */
import type { FaultKind } from './failures.ts';

/**
 * A detector as the simulation sees it: what the real one needs and gets wrong, drawn. To run the real one instead, replace what reads these.
 */
export interface Detector {
  /** From the fault to the verdict, median. */
  readonly seconds: number;
  /** It waits for a time without progress: the verdict comes after exactly so long, and not sooner or later by chance. */
  readonly isTimeout?: boolean;
  /** Faults that it does not see; the watchdog of the framework does. */
  readonly missProbability: number;
  /** Verdicts on healthy nodes per day and 16,384 GPUs. Each costs a save and a swap. */
  readonly falseAlarmsPerDay: number;
}

/** How quickly failures are detected, located and recovered from, and what a save costs. Times are in seconds. */
export interface Response {
  /** Where each number is from, and which are fitted rather than published. */
  readonly source: string;
  readonly detectors: Readonly<Record<FaultKind, Detector>>;
  /** From the verdict to the node, or to knowing that it is none, median. */
  readonly locateSeconds: Readonly<Record<FaultKind, number>>;
  /** Least and most that was published of it; what is drawn beyond is drawn again. Absent: nothing was. */
  readonly locateWithinSeconds?: Readonly<Partial<Record<FaultKind, readonly [least: number, most: number]>>>;
  /** process: ranks again in their pods. swap: a gang with another node. Both until the first step, median. */
  readonly restartSeconds: { readonly process: number; readonly swap: number };
  /** Training between two saves. */
  readonly checkpointIntervalSeconds: number;
  /** How long a save holds training up. */
  readonly checkpointStallSeconds: number;
  /** A wrong node is named, and the fault comes back within ten minutes. */
  readonly misdiagnosedProbability: number;
  /** Faults that only a person can answer, and how long that takes on top. */
  readonly manual: { readonly probability: number; readonly seconds: number };
  readonly plannedDownSeconds: number;
  /** Slow nodes are found and replaced after so long; absent: they stay. */
  readonly evictsSlowAfterSeconds?: number;
}

/** What notices a fault that a detector missed: the default timeout of PyTorch's process groups. */
export const WATCHDOG_SECONDS = 600;

const MINUTE = 60;

function detectors(
  seconds: Readonly<Record<FaultKind, number>>,
  falseAlarmsPerDay = 0,
): Readonly<Record<FaultKind, Detector>> {
  const of = (kind: FaultKind, falseAlarms: number): Detector => {
    return { seconds: seconds[kind], missProbability: 0, falseAlarmsPerDay: falseAlarms };
  };
  return { crash: of('crash', 0), hang: of('hang', falseAlarmsPerDay), sdc: of('sdc', 0) };
}

/** Hangs are noticed by a time without progress. */
function withTimeout(of: Readonly<Record<FaultKind, Detector>>): Readonly<Record<FaultKind, Detector>> {
  return { ...of, hang: { ...of.hang, isTimeout: true } };
}

/** Published ways to detect and handle failures, by name. */
export const RESPONSES = {
  llama3: {
    source:
      'Fitted to "more than 90 % effective" (arXiv 2407.21783): only that total is published, no time of a part is.',
    detectors: detectors({ crash: MINUTE, hang: 10 * MINUTE, sdc: 30 * MINUTE }),
    locateSeconds: { crash: 2 * MINUTE, hang: 5 * MINUTE, sdc: 30 * MINUTE },
    restartSeconds: { process: 3 * MINUTE, swap: 4 * MINUTE },
    checkpointIntervalSeconds: 10 * MINUTE,
    checkpointStallSeconds: 3,
    misdiagnosedProbability: 0.05,
    manual: { probability: 3 / 419, seconds: 120 * MINUTE },
    plannedDownSeconds: 15 * MINUTE,
  },
  megascale: {
    source:
      'Fitted to "more than 90 %", with what is published (arXiv 2402.15627): under 10 min to notice and find, at most 15 min to catch up, 90 % of faults answered by themselves.',
    detectors: detectors({ crash: MINUTE, hang: 10 * MINUTE, sdc: 30 * MINUTE }),
    locateSeconds: { crash: 6 * MINUTE, hang: 9 * MINUTE, sdc: 30 * MINUTE },
    restartSeconds: { process: 6 * MINUTE, swap: 8 * MINUTE },
    checkpointIntervalSeconds: 15 * MINUTE,
    checkpointStallSeconds: 6,
    misdiagnosedProbability: 0,
    manual: { probability: 0.1, seconds: 90 * MINUTE },
    plannedDownSeconds: 15 * MINUTE,
  },
  byterobust: {
    source:
      'ByteRobust (arXiv 2509.16293, tables 3, 6, 7 and 8): a crash is found after a minute and located in 2 to 15 min; a hang is found by 10 min without traffic. A swap takes 109 s, a hot update 55 s, a save 0.03 s with each step (read as 10 s). Fitted: 3 % of incidents take a person 5 h.',
    detectors: withTimeout(detectors({ crash: MINUTE, hang: 10 * MINUTE, sdc: 30 * MINUTE })),
    locateSeconds: { crash: 4 * MINUTE, hang: 8 * MINUTE, sdc: 60 * MINUTE },
    locateWithinSeconds: { crash: [2 * MINUTE, 15 * MINUTE] },
    restartSeconds: { process: 55, swap: 109 },
    checkpointIntervalSeconds: 10,
    checkpointStallSeconds: 0.03,
    misdiagnosedProbability: 0,
    manual: { probability: 0.03, seconds: 300 * MINUTE },
    plannedDownSeconds: 15 * MINUTE,
  },
  target: {
    source:
      'What our ladder is to reach; assumed until it is measured. Hangs are acted on at 60 s; one false alarm a day at 16,384 GPUs, the bar that detectors are held to.',
    detectors: detectors({ crash: 12, hang: 60, sdc: 600 }, 1),
    locateSeconds: { crash: 12, hang: 30, sdc: 600 },
    restartSeconds: { process: 30, swap: 90 },
    checkpointIntervalSeconds: 2 * MINUTE,
    checkpointStallSeconds: 0.6,
    misdiagnosedProbability: 0.05,
    manual: { probability: 3 / 419, seconds: 30 * MINUTE },
    plannedDownSeconds: 15 * MINUTE,
    evictsSlowAfterSeconds: 300,
  },
} as const satisfies Record<string, Response>;

/** A name of {@link RESPONSES}. */
export type ResponseName = keyof typeof RESPONSES;
