import type { QueueCluster } from '../load/queue-job.ts';
import { ClusterSchedulerRule } from './cluster-scheduler-rule.ts';
import { EasyBackfill, EXACT_ENDS, KueueOrder, PREDICTED_ENDS, StrictFifo, FirstFit } from './counting-rule.ts';
import type { QueueRule } from './queue-rule.ts';

/** Every rule, with what it does. */
export const QUEUE_RULES = {
  coxswain: {
    title: 'Coxswain: the scheduler of the operator',
    make: (cluster) => new ClusterSchedulerRule(cluster),
  },
  'first-fit': {
    title: 'each job that fits starts, the oldest first',
    make: (cluster) => new FirstFit(cluster),
  },
  fifo: { title: 'strict FIFO: the oldest blocks all others', make: (cluster) => new StrictFifo(cluster) },
  'easy-exact': {
    title: 'EASY backfill that knows when each job ends',
    make: (cluster) => new EasyBackfill(cluster, EXACT_ENDS),
  },
  'easy-predicted': {
    title: 'EASY backfill with the predicted or stated ends',
    make: (cluster) => new EasyBackfill(cluster, PREDICTED_ENDS),
  },
  'kueue-best-effort': {
    title: 'Kueue, BestEffortFIFO, a ClusterQueue per namespace',
    make: (cluster) => new KueueOrder(cluster, 'BestEffortFIFO'),
  },
  'kueue-strict': {
    title: 'Kueue, StrictFIFO, a ClusterQueue per namespace',
    make: (cluster) => new KueueOrder(cluster, 'StrictFIFO'),
  },
} as const satisfies Readonly<
  Record<string, { readonly title: string; readonly make: (cluster: QueueCluster) => QueueRule }>
>;

/** Name of a rule. */
export type QueueRuleName = keyof typeof QUEUE_RULES;
/** Names of all rules, in the order of tables. */
export const QUEUE_RULE_NAMES = Object.keys(QUEUE_RULES) as readonly QueueRuleName[];
