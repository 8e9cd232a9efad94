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
 * One entry for each rank whose process runs or exited with 0. The processes below it count with it. Ranks of one starter (torchrun) share an entry's values,
 * because only the starter knows which process is which rank.
 */
export function rankProcesses(
  started: readonly StartedProcess[],
  nowMs: number,
  states: ProcessStates = realStates,
): readonly RankProcess[] {
  const running = started.filter(({ hasEnded, pid }) => !hasEnded && pid !== undefined);
  const finished = started
    .filter(({ exit }) => exit?.kind === 'code' && exit.code === 0)
    .flatMap(({ ranks }) => ranks.map((rank) => ({ rank, state: 'finished' as const, cpuMs: 0, quietMs: 0 })));
  if (running.length === 0) return finished;
  const children = Map.groupBy(states.ids().slice(0, MAX_PROCESSES), (pid) => states.parentOf(pid));
  const found = running.flatMap(({ ranks, pid, wroteAtMs }) => {
    const tree = [...below(pid ?? 0, children)];
    const seen = tree.map((one) => ({ pid: one, state: states.stateOf(one), cpuMs: states.cpuMsOf(one) }));
    const busiest = seen.toSorted((left, right) => right.cpuMs - left.cpuMs)[0];
    const program = busiest === undefined ? undefined : states.programOf(busiest.pid);
    const about = {
      state: together(seen.map(({ state }) => state)),
      cpuMs: seen.reduce((sum, one) => sum + one.cpuMs, 0),
      quietMs: Math.max(0, Math.round(nowMs - wroteAtMs)),
      ...(program === undefined ? {} : { program: program.slice(0, MAX_PROGRAM_CHARACTERS).toWellFormed() }),
    };
    return ranks.map((rank) => ({ rank, ...about }));
  });
  return [...found, ...finished];
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
