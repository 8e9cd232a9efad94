/** What do the processes of each rank do, as the kernel shows it? */
import { type RankProcess } from '@coxswain/api-types';
import { readdirSync } from 'node:fs';
import { cpuMsOf, parentOf, programOf, stateOf } from './process-facts.ts';

/** A process that the launcher started for some ranks. */
export interface StartedProcess {
  readonly ranks: readonly number[];
  readonly pid: number | undefined;
  readonly hasEnded: boolean;
  /** Undefined while it runs. */
  readonly exit: { readonly kind: 'code'; readonly code: number } | { readonly kind: 'signal' } | undefined;
  /** Ranks that exited with 0, while their starter may still run. */
  readonly finishedRanks: readonly number[];
  /** The process of each rank of a starter, as far as it was seen. */
  readonly rankPids: ReadonlyMap<number, number>;
  readonly wroteAtMs: number;
}

/** The part of /proc that is read. */
export interface ProcessStates {
  readonly ids: () => readonly number[];
  readonly parentOf: (pid: number) => number;
  readonly stateOf: (pid: number) => string | undefined;
  readonly cpuMsOf: (pid: number) => number;
  readonly programOf: (pid: number) => string | undefined;
}

const realStates: ProcessStates = {
  ids: () => readdirSync('/proc').flatMap((name) => (/^[0-9]+$/.test(name) ? Number(name) : [])),
  parentOf,
  stateOf,
  cpuMsOf,
  programOf,
};

/** Contract of the field. */
const MAX_PROGRAM_CHARACTERS = 16;
/** More processes than that are of no rank alone, and each costs a read. */
const MAX_PROCESSES = 1_024;

/**
 * One entry for each rank whose process runs or exited with 0. The processes below it count with it. Ranks of one starter (torchrun) have their own values once
 * their processes were seen, and share those of the starter before.
 */
export function rankProcesses(
  started: readonly StartedProcess[],
  nowMs: number,
  states: ProcessStates = realStates,
): readonly RankProcess[] {
  const running = started.filter(({ hasEnded, pid }) => !hasEnded && pid !== undefined);
  const finished = started.flatMap(({ finishedRanks }) =>
    finishedRanks.map((rank) => ({ rank, state: 'finished' as const, cpuMs: 0, quietMs: 0 })),
  );
  if (running.length === 0) return finished;
  const children = Map.groupBy(states.ids().slice(0, MAX_PROCESSES), (pid) => states.parentOf(pid));
  const found = running.flatMap(({ ranks, pid = 0, finishedRanks, rankPids, wroteAtMs }) => {
    const about = (root: number): Omit<RankProcess, 'rank'> => ({
      ...stateBelow(root, children, states),
      quietMs: Math.max(0, Math.round(nowMs - wroteAtMs)),
    });
    const shared = about(pid);
    return ranks
      .filter((rank) => !finishedRanks.includes(rank))
      .map((rank) => {
        const own = rankPids.get(rank);
        return { rank, ...(own === undefined ? shared : about(own)) };
      });
  });
  return [...found, ...finished];
}

/** State, CPU time and busiest program of a process and those below it. */
function stateBelow(
  root: number,
  children: ReadonlyMap<number, readonly number[]>,
  states: ProcessStates,
): Pick<RankProcess, 'state' | 'cpuMs' | 'program'> {
  const tree = [...below(root, children)];
  const seen = tree.map((one) => ({ pid: one, state: states.stateOf(one), cpuMs: states.cpuMsOf(one) }));
  const busiest = seen.toSorted((left, right) => right.cpuMs - left.cpuMs)[0];
  const program = busiest === undefined ? undefined : states.programOf(busiest.pid);
  return {
    state: together(seen.map(({ state }) => state)),
    cpuMs: seen.reduce((sum, one) => sum + one.cpuMs, 0),
    ...(program === undefined ? {} : { program: program.slice(0, MAX_PROGRAM_CHARACTERS).toWellFormed() }),
  };
}

/** A stopped process stops its rank, and so does one that waits in the kernel. `t`: a debugger stopped it. */
function together(states: readonly (string | undefined)[]): RankProcess['state'] {
  if (states.some((state) => state === 'T' || state === 't')) return 'stopped';
  return states.includes('D') ? 'waiting' : 'running';
}

function* below(pid: number, children: ReadonlyMap<number, readonly number[]>): Generator<number> {
  yield pid;
  for (const child of children.get(pid) ?? []) if (child !== pid) yield* below(child, children);
}
