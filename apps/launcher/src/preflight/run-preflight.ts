import { setTimeout as delay } from 'node:timers/promises';
import type { PreflightReport, RankAssignment } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import { formatAddress } from '../engine/rendezvous.ts';
import type { Reporter } from '../reports/reporter.ts';
import type { Settings } from '../program/settings.ts';
import { PreflightProcess } from './preflight-process.ts';

/** Others of the gang may take until their limit, and the operator some seconds; whoever is told nothing then starts its ranks. */
const ANSWER_SLACK_MS = 20_000;

export interface LookAround {
  readonly settings: Settings;
  readonly assignment: RankAssignment;
  readonly isHost: boolean;
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  readonly reporter: Pick<Reporter, 'board' | 'announceBoard' | 'preflightDone' | 'tellPreflight' | 'endPreflight'>;
  readonly say: (sentence: string) => void;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/**
 * Before the first ranks of an epoch: looks at the pod, tells the operator, and waits until that has heard the whole gang. Gives way to whatever keeps it
 * from that: an image without Python, a peer that cannot look, an operator that does not answer. Ranks that are started again in the same pods have been
 * looked at.
 */
export async function lookAround(options: LookAround): Promise<void> {
  const { settings, assignment, isHost, reporter, say, signal } = options;
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
      reporter.announceBoard({ address: formatAddress({ host: settings.podIp, port }), key });
    },
    board: reporter.board(),
  });
  signal.addEventListener('abort', () => program.end());
  try {
    // Told to go on before it has looked: somebody else of the gang cannot.
    const report = await Promise.race([program.report, reporter.preflightDone()]);
    if (signal.aborted) return;
    if (report === undefined)
      return say('Preflight: a pod of the gang cannot look around, so that no pod is looked at.');
    say(inWords(report));
    const patience = new AbortController();
    const answered = reporter.tellPreflight(report).then(() => true);
    const isAnswered = await Promise.race([answered, unanswered(timeoutMs + ANSWER_SLACK_MS, patience.signal)]);
    patience.abort();
    if (!isAnswered) say('Preflight: the operator does not answer; the ranks start.');
  } finally {
    reporter.endPreflight();
    // The board of the others may have been in it until now.
    program.end();
  }
}

async function unanswered(ms: number, signal: AbortSignal): Promise<false> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
  return false;
}

function inWords({ outcome, note, tookMs }: PreflightReport): string {
  const how = { Done: 'done', Partial: 'done in part', Skipped: 'skipped' }[outcome];
  return `Preflight ${how} after ${formatDuration(tookMs)}${note === undefined ? '' : `: ${note}`}.`;
}
