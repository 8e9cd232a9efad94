/** How a child of another process ended. The kernel keeps the status until the parent reads it. */
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { exitBySignal, type RankExit } from '../ending/verdict.ts';

/** torchrun and ft_launcher ask ten times a second (`--monitor-interval`). */
const LOOK_MS = 5;
/** A program may disconnect some time before it exits. */
const PATIENCE_MS = 2_000;

/** `ended`: its parent has not read the status yet. `gone`: the parent has, it was never its child, or this launcher may not read the status. */
export type ProcessStanding =
  { readonly kind: 'runs' } | { readonly kind: 'gone' } | { readonly kind: 'ended'; readonly exit: RankExit };

/** Overrides for tests: how a process is observed, and for how many milliseconds. */
export interface EndOptions {
  readonly standingOf?: (pid: number, parent: number) => ProcessStanding;
  readonly patienceMs?: number;
}

/** Waits for a child of `parent` to end, and returns how it ended; undefined if that is unknown, or it does not end. */
export async function endOfChild(
  pid: number,
  parent: number,
  { standingOf = standingNow, patienceMs = PATIENCE_MS }: EndOptions = {},
): Promise<RankExit | undefined> {
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const standing = standingOf(pid, parent);
    if (standing.kind !== 'runs') return standing.kind === 'ended' ? standing.exit : undefined;
    if (performance.now() >= untilMs) return undefined;
    await delay(LOOK_MS);
  }
}

function standingNow(pid: number, parent: number): ProcessStanding {
  try {
    const isOwn = statSync(`/proc/${pid}`).uid === process.geteuid?.();
    return standingIn(readFileSync(`/proc/${pid}/stat`, 'latin1'), { parent, isOwn });
  } catch {
    return { kind: 'gone' };
  }
}

/**
 * From /proc/PID/stat: the name stands in brackets and may hold anything; state and parent follow it, and how it ended is the 52nd field (proc_pid_stat(5)).
 * `isOwn`: of the same user. Of another's a launcher without CAP_SYS_PTRACE reads 0 there, however the process ended.
 */
export function standingIn(
  stat: string,
  { parent, isOwn }: { readonly parent: number; readonly isOwn: boolean },
): ProcessStanding {
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .trim()
    .split(' ');
  const [state, asks] = fields;
  if (Number(asks) !== parent || state === 'X') return { kind: 'gone' };
  if (state !== 'Z') return { kind: 'runs' };
  const status = Number(fields[FIELD_OF_END] ?? 0);
  return status === 0 && !isOwn ? { kind: 'gone' } : { kind: 'ended', exit: toExit(status) };
}

/** Of those that follow the name, which is the second. */
const FIELD_OF_END = 52 - 3;

/** Decodes a status of wait(2). */
function toExit(status: number): RankExit {
  const number = status & 0x7f;
  return number === 0 ? { kind: 'code', code: (status >> 8) & 0xff } : exitBySignal(number);
}
