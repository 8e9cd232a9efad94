/** How is a gang that does not train described to users? */
import type { RankProcess, RankWatermark } from '@coxswain/api-types';
import type { Gang } from '../gang/gang.ts';
import { capitalize, describeRanks } from '../verdict/verdict.ts';

/** What is known of one rank; absent: not reported. */
export interface StandingRank {
  readonly rank: number;
  readonly step?: number;
  readonly phase?: RankWatermark['phase'];
  /** Operations that it completed, in all its groups. */
  readonly completed?: number;
  /** By its last report it waits for others in a collective. */
  readonly isWaiting?: boolean;
  readonly state?: Exclude<RankProcess['state'], 'finished'>;
  readonly cpuMs?: number;
  readonly program?: string;
  /** When it exited with 0. */
  readonly finishedAtMs?: number;
}

type Ranks = readonly StandingRank[];

/** `Rank 1 finished with exit code 0 after step 59; 3 ranks wait for it.` */
export function formatFinished(
  finished: Ranks,
  { ranks, goesOn }: { readonly ranks: number; readonly goesOn: boolean },
): string {
  const step = Math.max(-1, ...finished.map((one) => one.step ?? -1));
  const after = step < 0 ? '' : ` after step ${step}`;
  const others = ranks - finished.length;
  const one = others === 1;
  const rest = goesOn
    ? `${others} ${one ? 'rank still trains' : 'ranks still train'}`
    : `${others} ${one ? 'rank waits' : 'ranks wait'} for ${finished.length === 1 ? 'it' : 'them'}`;
  return `${capitalize(describeRanks(rankNumbers(finished)))} finished with exit code 0${after}; ${rest}.`;
}

/** The same from the ranks alone. */
export function describeFinishedRanks(finished: readonly number[], ranks: number): string {
  return formatFinished(
    finished.map((rank) => ({ rank })),
    { ranks, goesOn: false },
  );
}

/** Processes that a signal stopped, or that wait in the kernel. */
export function formatStopped(held: Ranks, { nodeOf }: Pick<Gang, 'nodeOf'>): string {
  const stopped = held.filter(({ state }) => state === 'stopped');
  const shown = stopped.length > 0 ? stopped : held;
  const nodes = [...new Set(shown.flatMap(({ rank }) => nodeOf(rank) ?? []))];
  const where = nodes.length === 1 ? ` on node ${nodes[0]}` : '';
  const who = `${shown.length === 1 ? 'The process' : 'The processes'} of ${describeRanks(rankNumbers(shown))}${where}`;
  const verb = shown.length === 1 ? 'is' : 'are';
  if (stopped.length > 0) {
    return `${who} ${verb} stopped (state T), by SIGSTOP or a debugger, and the other ranks wait; SIGCONT continues ${shown.length === 1 ? 'it' : 'them'}.`;
  }
  return `${who} ${shown.length === 1 ? 'waits' : 'wait'} in the kernel (state D), as on a file server or a GPU that does not answer; check mounts and the kernel log of the node.`;
}

/** `No step, no collective, no CPU time and no output for 10 min, after step 12. Rank 1 stands out: ...` */
export function formatIdle(about: { readonly why: string; readonly step: number; readonly boundMs: number }): string {
  const { why, step, boundMs } = about;
  const after = step < 0 ? 'before the first reported step' : `after step ${step}`;
  return `No step, no collective, no CPU time and no output of any rank for ${Math.round(boundMs / 1000)} s, ${after}. ${why === '' ? 'No rank stands out.' : why}`;
}

const BUSY = { saving: 'save', evaluating: 'evaluate', compiling: 'compile' } as const;

/** What ranks do between two steps; undefined: nothing of that kind. Of several activities the first. */
export function formatBusy(all: Ranks): string | undefined {
  const phase = (['saving', 'evaluating', 'compiling'] as const).find((one) => all.some((rank) => rank.phase === one));
  return phase === undefined ? undefined : `Ranks ${BUSY[phase]}, and no step ends meanwhile.`;
}

/** How far the start came: which ranks have a process group, and whether anything happens. */
export function formatBeforeFirstStep(
  all: Ranks,
  { ranks, isQuiet, why }: { readonly ranks: number; readonly isQuiet: boolean; readonly why: string },
): string {
  const joined = all.filter(({ phase }) => phase !== undefined);
  const others = all.filter(({ phase, finishedAtMs }) => phase === undefined && finishedAtMs === undefined);
  const more = why === '' ? '' : ` ${why}`;
  if (joined.length === ranks) return 'Every rank has joined its process group, and no rank has reported a step.';
  if (joined.length > 0) {
    const who = capitalize(describeRanks(rankNumbers(others)));
    return `${who} ${others.length === 1 ? 'has' : 'have'} not joined the process group, and ${joined.length} of ${ranks} ranks have; no rank has completed a step.`;
  }
  if (isQuiet) return `No rank has joined a process group or completed a step, and the ranks are idle.${more}`;
  return `No rank has reported a process group or a step. The ranks use CPU time or write output; Coxswain observes steps of PyTorch, of engines that report them and of step lines.`;
}

function rankNumbers(ranks: Ranks): readonly number[] {
  return ranks.map(({ rank }) => rank);
}
