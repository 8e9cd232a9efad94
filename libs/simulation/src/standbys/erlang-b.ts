/** How many standbys does a job need so that almost every fault finds one? */

/** What decides how often a fault finds no standby. */
export interface StandbyDemand {
  /** Nodes of the job without its standbys. */
  readonly nodes: number;
  readonly faultsPerNodeDay: number;
  /** Mean time from the loss of a node until another standby has taken its place, in hours. */
  readonly refillHours: number;
}

/** Most standbys that are suggested. */
const MOST_STANDBYS = 10_000;

/**
 * Share of the faults that find no standby, by Erlang B: faults come independently of each other, and `standbys` places are refilled at once as nodes
 * come back. The distribution of the refill times does not matter, only their mean.
 */
export function unansweredShare(standbys: number, demand: StandbyDemand): number {
  const load = awaited(demand);
  let share = 1;
  for (let count = 1; count <= standbys; count += 1) share = (load * share) / (count + load * share);
  return share;
}

/** The fewest standbys with which at most the share `most` of the faults finds none. */
export function standbysFor(demand: StandbyDemand, most = 0.01): number {
  const load = awaited(demand);
  let share = load === 0 ? 0 : 1;
  let count = 0;
  while (share > most && count < MOST_STANDBYS) {
    count += 1;
    share = (load * share) / (count + load * share);
  }
  return count;
}

/** Mean number of nodes whose refill is awaited, if each fault finds a standby. */
function awaited({ nodes, faultsPerNodeDay, refillHours }: StandbyDemand): number {
  return (nodes * faultsPerNodeDay * refillHours) / 24;
}
