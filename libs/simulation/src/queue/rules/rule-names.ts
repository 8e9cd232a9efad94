import type { QueueCluster } from '../load/queue-job.ts';
import { ClusterSchedulerRule } from './cluster-scheduler-rule.ts';
import { EasyBackfill, EXACT_ENDS, KueueOrder, PREDICTED_ENDS, StrictFifo, FirstFit } from './counting-rule.ts';
import type { QueueRule } from './queue-rule.ts';
import { QUEUE_RULE_TITLES, type QueueRuleName } from './rule-titles.ts';

/** What a rule may be asked to leave out. */
interface RuleOptions {
  /** Whether jobs make room for others of higher priority; absent: they do. */
  readonly makesRoom?: boolean;
}

/** Every rule, with what it does. */
export const QUEUE_RULES = {
  coxswain: {
    title: QUEUE_RULE_TITLES.coxswain,
    make: (cluster, options?: RuleOptions) => new ClusterSchedulerRule(cluster, options),
  },
  'first-fit': {
    title: QUEUE_RULE_TITLES['first-fit'],
    make: (cluster) => new FirstFit(cluster),
  },
  fifo: { title: QUEUE_RULE_TITLES.fifo, make: (cluster) => new StrictFifo(cluster) },
  'easy-exact': {
    title: QUEUE_RULE_TITLES['easy-exact'],
    make: (cluster) => new EasyBackfill(cluster, EXACT_ENDS),
  },
  'easy-predicted': {
    title: QUEUE_RULE_TITLES['easy-predicted'],
    make: (cluster) => new EasyBackfill(cluster, PREDICTED_ENDS),
  },
  'kueue-best-effort': {
    title: QUEUE_RULE_TITLES['kueue-best-effort'],
    make: (cluster) => new KueueOrder(cluster, 'BestEffortFIFO'),
  },
  'kueue-strict': {
    title: QUEUE_RULE_TITLES['kueue-strict'],
    make: (cluster) => new KueueOrder(cluster, 'StrictFIFO'),
  },
} as const satisfies Readonly<
  Record<
    QueueRuleName,
    {
      readonly title: string;
      readonly make: (cluster: QueueCluster, options?: RuleOptions) => QueueRule;
    }
  >
>;

export { QUEUE_RULE_NAMES, type QueueRuleName } from './rule-titles.ts';
