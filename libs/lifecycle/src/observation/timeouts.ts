import { SIZE_RULES } from '@coxswain/scheduling';

/**
 * How long the cluster has for each thing that a gang needs, in milliseconds. Administrators set these timeouts for the whole cluster,
 * because they depend on nodes, registry and storage and not on a job.
 */
export interface Timeouts {
  /** How long a node of a gang may be not ready and its launcher silent before the node counts as lost. */
  readonly nodeGraceMs: number;
  /** From the recorded attempt until all its pods exist. */
  readonly creatingMs: number;
  /** From the release of a gang until every pod has a node. */
  readonly schedulingMs: number;
  /**
   * From then until every container runs, without image pulls; mounting volumes is included. The same time again until every launcher has
   * reported.
   */
  readonly startingMs: number;
  /** For pulling the trainer's image, before the rest of the start, unless the runtime states another time. */
  readonly pullingMs: number;
  /** From the end of a deleted pod's grace until it is fenced, on a node that answers. */
  readonly stoppingMs: number;
  /** From a failure that is answered in the same pods until every launcher has reported that its ranks have ended. */
  readonly reapingMs: number;
  /** How long a job avoids a node that failed it. */
  readonly avoidedMs: number;
  /** How long an elastic job waits for all its GPUs before it asks for a layout on fewer. */
  readonly shrinkMs: number;
  /** How long GPUs must be free before a job that runs on fewer than it asks for takes them. */
  readonly growMs: number;
  /** How many times the measured time of a change a growth has to gain; 0: each growth pays. */
  readonly growCosts: number;
}

/**
 * - Node grace: a kubelet that is restarted or upgraded, and an API server that fails over, are back within a minute; the node controller
 *   has waited 50 s before it says NotReady. A false restart costs the gang minutes, waiting two more for a dead node costs just these: its
 *   peers usually fail sooner, and then nothing is waited for.
 * - Creating: a gang of 2,048 pods is made within two minutes; ten allow for an API server under load.
 * - Scheduling: the nodes are chosen already, so the scheduler needs seconds; five minutes allow for one that fails over.
 * - Starting: 15 minutes allow for a volume that is attached slowly, and for a registry that answers again.
 * - Pulling: 30 minutes pull an image of 50 GB at 30 MB/s.
 * - Stopping: a kubelet kills what is left right after the grace. What is there two minutes later hangs in the kernel.
 * - Reaping: SIGKILL reaches a rank within a second, and a launcher that has lost its connection is back within half a minute; a rank that
 *   hangs in a driver for a minute hangs for good.
 * - Avoided: an hour outlasts ten restarts in a row, and hides no node from a job for good.
 * - Shrink: to wait pays as long as it takes less than to shrink and to grow back, two restarts of one to two minutes each.
 * - Grow: a node that has come back and fails again does so within minutes; and each growth costs a restart. Doubled
 *   by each of the last day that did not last (epoch/growth.ts).
 * - Costs of a growth: a change is undone once.
 */
export const DEFAULT_TIMEOUTS: Timeouts = {
  nodeGraceMs: 120_000,
  creatingMs: 600_000,
  schedulingMs: 300_000,
  startingMs: 900_000,
  pullingMs: 1_800_000,
  stoppingMs: 120_000,
  reapingMs: 60_000,
  avoidedMs: 3_600_000,
  shrinkMs: 120_000,
  growMs: 600_000,
  growCosts: SIZE_RULES.costsToGain,
};
