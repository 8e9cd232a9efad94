import { ApiProblem } from '@coxswain/api-client';
import {
  type CheckpointDetail,
  type CheckpointVerification,
  type CheckpointVerifyRequest,
  VERIFICATION_LEVELS,
} from '@coxswain/api-types';
import { formatBytes, formatCount, formatDuration, MINUTE_MS, SECOND_MS } from '@coxswain/units';
import { CliError } from '../cli-error.ts';
import type { Session } from '../session/session.ts';
import type { FoundCheckpoint } from './find-checkpoint.ts';
import { verdictWords } from './checkpoint-tables.ts';

const POLL_MS = 2 * SECOND_MS;
/** Between two lines that only say that it still waits. */
const PROGRESS_MS = 30 * SECOND_MS;

/** What is awaited. */
interface WaitedVerification {
  readonly asked: Pick<CheckpointVerifyRequest, 'level' | 'requestedAt'>;
  readonly timeoutMinutes: number;
  /** A Checkpoint that was created just now: the server lists it a moment later. */
  readonly adopted?: CheckpointDetail;
}

/** Resolves with the verification that answers the request. Says on standard error what it waits for, and why, as the Checkpoint says. */
export async function waitForVerdict(
  session: Session,
  { project, at }: Pick<FoundCheckpoint, 'project' | 'at'>,
  { asked, timeoutMinutes, adopted }: WaitedVerification,
): Promise<CheckpointVerification> {
  const startMs = session.now().getTime();
  let message: string | null = null;
  let saidMs = startMs;
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const detail = await project.api.checkpoint(at).catch((error: unknown) => {
      if (adopted !== undefined && error instanceof ApiProblem && error.status === 404) return adopted;
      throw error;
    });
    const answer = detail.verifications.find((one) => isAnswer(one, asked));
    if (answer !== undefined) return answer;
    if (detail.deletedAt !== null) throw new CliError(`Checkpoint ${detail.name} was deleted before it was verified.`);
    if (waitedMs >= timeoutMinutes * MINUTE_MS || session.signal.aborted) throw unanswered(detail, timeoutMinutes);
    if (detail.message !== message && detail.message !== null) session.printError(`${detail.name}: ${detail.message}`);
    else if (waitedMs + startMs - saidMs >= PROGRESS_MS) {
      session.printError(`${detail.name}: waiting for a verdict at ${asked.level} (${formatDuration(waitedMs)})`);
      saidMs = waitedMs + startMs;
    }
    message = detail.message;
    await session.pause(POLL_MS);
  }
}

/** The same rule by which the operator takes the request as answered. */
function isAnswer({ by, level, at }: CheckpointVerification, asked: WaitedVerification['asked']): boolean {
  const isClose = VERIFICATION_LEVELS.indexOf(level) >= VERIFICATION_LEVELS.indexOf(asked.level);
  return by === 'Worker' && isClose && (asked.requestedAt === null || Date.parse(at) >= Date.parse(asked.requestedAt));
}

function unanswered(
  { name, message }: { readonly name: string; readonly message: string | null },
  timeoutMinutes: number,
): CliError {
  const why =
    message === null
      ? 'The cluster gives no reason yet: its pod may still read.'
      : `The cluster says: ${message.replace(/\.?$/, '.')}`;
  return new CliError(
    `Checkpoint ${name} has no verdict after ${formatCount(timeoutMinutes, 'minute')}. ${why} The request stays; \`coxswain checkpoint get ${name}\` shows the verdict.`,
  );
}

/** `Sound as far as V3 sees`, and the findings. */
export function verdictLines({ verdict, level, readBytes, node, findings }: CheckpointVerification): string {
  const where = node === undefined ? '' : ` on node ${node}`;
  const lines = findings.map(({ kind, message }) => `${level}  ${kind}: ${message}`);
  return [`${verdictWords(verdict, level)}: ${formatBytes(readBytes)} read${where}.`, ...lines].join('\n');
}
