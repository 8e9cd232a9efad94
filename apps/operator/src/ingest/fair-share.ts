import type { Rate } from '@coxswain/units';

/** Limits for all launchers together. */
const IN_ALL = { steps: 3_072, gatheredFrames: 500, frames: 4_096, kilobytes: 16_384 } as const;
/** Limits for one launcher, even if it is the only one. */
const MOST = { steps: 20, frames: 200, kilobytes: 2_048 } as const;
const GATHER_MS = { least: 200, most: 5_000 } as const;

/** The share of one connection. */
export interface FairShare {
  /** Sent to the launcher, which limits itself to it. */
  readonly pace: { readonly stepsPerSecond: number; readonly gatherMs: number };
  /** Above this rate the connection is read more slowly, whatever its launcher does. */
  readonly frames: Rate;
  readonly kilobytes: Rate;
}

/** An equal share for each connection. The number of connections is rounded up to a power of two, so that shares change rarely. */
export function fairShareOf(connections: number): FairShare {
  const among = 2 ** Math.ceil(Math.log2(Math.max(1, connections)));
  const framesPerSecond = Math.min(MOST.frames, IN_ALL.frames / among);
  const kilobytesPerSecond = Math.min(MOST.kilobytes, IN_ALL.kilobytes / among);
  return {
    pace: {
      stepsPerSecond: Math.min(MOST.steps, IN_ALL.steps / among),
      gatherMs: Math.min(GATHER_MS.most, Math.max(GATHER_MS.least, Math.ceil((among / IN_ALL.gatheredFrames) * 1_000))),
    },
    frames: { perSecond: framesPerSecond, burst: 5 * framesPerSecond + 20 },
    kilobytes: { perSecond: kilobytesPerSecond, burst: 2 * kilobytesPerSecond + 512 },
  };
}
