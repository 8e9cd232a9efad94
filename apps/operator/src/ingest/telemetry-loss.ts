/** The verdict about a job whose ranks are no longer watched, and why. */
import type { Verdict } from '@coxswain/health';
import { cutText } from '@coxswain/safe-text';
import { formatBytes } from '@coxswain/units';
import type { Overrun } from './telemetry-budget.ts';

/** Why the detectors of a run ended before the run: a bound on memory, or an error in a detector. */
export type TelemetryLoss = Overrun | { readonly bound: 'failed'; readonly error: unknown };

const WHOSE = {
  job: 'one job of its size may use',
  namespace: 'all jobs of its namespace may use together, and no other job uses more for each rank',
  all: 'all jobs may use together, and no other job uses more for each rank',
} as const;
const MAX_ERROR_CHARACTERS = 256;

/** A warning of the job. It names no rank, because ranks whose reports are dropped may be healthy. */
export function telemetryLossVerdict(loss: TelemetryLoss, atMs: number): Verdict {
  return {
    kind: 'blind',
    atMs,
    ranks: [],
    nodes: [],
    message: `Until its next start, Coxswain finds no hung or slow rank of this job: ${describe(loss)}`,
    evidence: loss.bound === 'failed' ? { cause: 'detectorFailed' } : evidenceOf(loss),
    confidence: 1,
    action: 'none',
    falseAlarmsPerDay: null,
  };
}

function describe(loss: TelemetryLoss): string {
  if (loss.bound === 'failed')
    return `its detectors failed (${cutText(messageOf(loss.error), MAX_ERROR_CHARACTERS)}). Report this to the developers of Coxswain.`;
  const { bound, heldBytes, limitBytes } = loss;
  const limit = `more than the ${formatBytes(limitBytes)} that ${WHOSE[bound]}`;
  const held = `reports of its ranks hold ${formatBytes(heldBytes)}`;
  const why = bound === 'job' ? `${held}, ${limit}.` : `${held}; reports use ${limit}.`;
  return `${why} Create fewer process groups.`;
}

function evidenceOf({ bound, heldBytes, limitBytes }: Overrun): Verdict['evidence'] {
  return { cause: 'memory', bound, heldBytes, limitBytes };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
