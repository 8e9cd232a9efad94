/** Names the scheduling rules of the simulation, for programs that list them without loading the simulation. */

/** What each rule does, in the order of tables. */
export const QUEUE_RULE_TITLES = {
  coxswain: 'Coxswain: the scheduler of the operator',
  'first-fit': 'each job that fits starts, the oldest first',
  fifo: 'strict FIFO: the oldest blocks all others',
  'easy-exact': 'EASY backfill that knows when each job ends',
  'easy-predicted': 'EASY backfill with the predicted or stated ends',
  'kueue-best-effort': 'Kueue, BestEffortFIFO, a ClusterQueue per namespace',
  'kueue-strict': 'Kueue, StrictFIFO, a ClusterQueue per namespace',
} as const;

/** Name of a rule. */
export type QueueRuleName = keyof typeof QUEUE_RULE_TITLES;
/** Names of all rules, in the order of tables. */
export const QUEUE_RULE_NAMES = Object.keys(QUEUE_RULE_TITLES) as readonly QueueRuleName[];
