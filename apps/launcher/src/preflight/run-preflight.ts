import { setTimeout as delay } from 'node:timers/promises';
import type { PreflightReport, RankAssignment } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import { formatAddress } from '../engine/rendezvous.ts';
import type { PreflightReporter } from '../reports/preflight-reporter.ts';
import type { Settings } from '../program/settings.ts';
import { PreflightProcess } from './preflight-process.ts';

/** Other pods may take as long as their limit, and the operator some seconds more; after that the ranks start without an answer. */
const ANSWER_SLACK_MS = 20_000;

/** What a preflight needs of the launcher. */
export interface PreflightRun {
  readonly settings: Settings;
  readonly assignment: RankAssignment;
  readonly isHost: boolean;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  readonly preflight: PreflightReporter;
  readonly logLine: (sentence: string) => void;
  /** Aborted when the ranks do not start after all. */
  readonly signal: AbortSignal;
}

/**
 * Runs the preflight before the first ranks of an attempt: measures the pod, reports to the operator, and waits until the operator has the reports of the
 * whole gang. Never holds up the ranks for long: an image without Python, a peer that cannot measure, or a silent operator ends it. Ranks that restart in the
 * same pods skip it.
 */
export async function runPreflight(options: PreflightRun): Promise<void> {
  const { settings, assignment, isHost, preflight, logLine, signal } = options;
  const { level, timeoutMs } = settings.preflight;
  if (level === 'Off' || assignment.incarnation > 1 || signal.aborted) return;
  const program = new PreflightProcess({
    level,
    timeoutMs,
    podIndex: assignment.podIndex,
    podCount: assignment.podCount,
    isHost,
    command: options.command,
    environment: options.environment,
    bootId: options.bootId,
    onBoard: ({ port, key }) => {
      preflight.announceBoard({ address: formatAddress({ host: settings.podIp, port }), key });
    },
    board: preflight.board(),
  });
  signal.addEventListener('abort', () => program.end());
  try {
    // If the operator ends the preflight before this pod has measured, another pod of the gang cannot take part.
    const report = await Promise.race([program.report, preflight.done()]);
    if (signal.aborted) return;
    if (report === undefined)
      return logLine('Preflight: a pod of the gang cannot run it, so it is skipped for the whole gang.');
    logLine(formatOutcome(report));
    const patience = new AbortController();
    const answered = preflight.report(report).then(() => true);
    const isAnswered = await Promise.race([answered, unanswered(timeoutMs + ANSWER_SLACK_MS, patience.signal)]);
    patience.abort();
    if (!isAnswered) logLine('Preflight: the operator does not answer; the ranks start without it.');
  } finally {
    preflight.finish();
    // The program may have hosted the gang's board until now.
    program.end();
  }
}

async function unanswered(ms: number, signal: AbortSignal): Promise<false> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
  return false;
}

function formatOutcome({ outcome, note, tookMs }: PreflightReport): string {
  const how = { Done: 'done', Partial: 'done in part', Skipped: 'skipped' }[outcome];
  return `Preflight ${how} after ${formatDuration(tookMs)}${note === undefined ? '' : `: ${note}`}.`;
}
