import { saveDirectoryOf } from '@coxswain/checkpoint';
import { renderRank } from '@coxswain/engines';
import {
  POD_PATHS,
  specOfEpoch,
  TrainingJobSpec,
  type Placement,
  type PlacementSpec,
  type TrainingJob,
} from '@coxswain/api-types';
import { isConflict, isRefusal, isRetryable, NotLeadingError } from '@coxswain/kube';
import {
  decide,
  sameStatus,
  type Action,
  type Decision,
  type ObservedPod,
  type ObservedProgress,
} from '@coxswain/lifecycle';
import type { JobPlanner } from './job-planner.ts';
import { toPod, type PodContext } from './pod-manifest.ts';
import type { TrainingJobStore } from './training-job-store.ts';

/** What the reconciler is given beside its store. */
export interface ReconcilerOptions {
  readonly store: TrainingJobStore;
  readonly now: () => Date;
  /** What every pod of the cluster holds alike. */
  readonly pods: () => Pick<PodContext, 'launcherImage' | 'reportUrls' | 'reportCaPem' | 'runAsNonRoot'>;
  /** Newest report of the job's steps held in memory. */
  readonly progressOf: (job: TrainingJob) => ObservedProgress | undefined;
  /** Plans beside the loop. */
  readonly planner: Pick<JobPlanner, 'planningOf' | 'ask' | 'forget'>;
  /** Tells every launcher of that epoch that is connected that the epoch is over. */
  readonly refuseLaunchers: (job: TrainingJob, epoch: number) => void;
  /** Tells people that the cluster refuses what has to be done, in its own words; best effort. */
  readonly warn: (job: TrainingJob, message: string) => void;
  /** Tells people what happened; best effort. */
  readonly announce: (job: TrainingJob, events: Decision['events']) => void;
}

/**
 * Looks at a job, decides, and does one kind of thing at a time until nothing is left to do.
 *
 * Status is the intent and comes first: a pass either writes status or acts upon what is recorded, never both, so a process that
 * dies between the two leaves nothing that its successor could not continue.
 */
export class TrainingJobReconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Reconciles the job of that key (`namespace/name`). Throws when the cluster refused or was away: try again later. */
  async reconcile(key: string): Promise<{ readonly requeueAfterMs?: number }> {
    let found: Findings = { missing: new Set(), refused: new Map() };
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const { job, decision } = await this.#look(key, found);
      if (job === undefined || decision === undefined) return {};
      if (!sameStatus(job.status, decision.status)) {
        await this.#record(job, decision);
        continue;
      }
      const { requeueAfterMs } = decision;
      if (decision.actions.length === 0) return requeueAfterMs === undefined ? {} : { requeueAfterMs };
      found = await this.#perform(job, decision.actions);
    }
    // Every pass found something to do. The next round comes soon, behind the other jobs.
    return { requeueAfterMs: RETRY_SOON_MS };
  }

  async #look(key: string, found: Findings): Promise<{ readonly job?: TrainingJob; readonly decision?: Decision }> {
    const { store, now, progressOf, planner } = this.#options;
    const before = store.findJob(key);
    if (before === undefined) return {};
    const nodeStates = await store.readLiveNodeStates(
      nodesInUse(before, { placements: store.placementsOf(before), pods: store.podsOf(before) }),
    );
    // From here to the reservation nothing waits: no other job can be given the same GPUs in between.
    const job = store.findJob(key);
    if (job === undefined || job.metadata.uid !== before.metadata.uid) return {};
    // Left over from a placement that could not be recorded: whether it still holds is decided anew.
    store.release(job);
    const progress = progressOf(job);
    const planning = planner.planningOf(job.metadata.uid);
    const decision = decide(
      {
        job,
        pods: store.podsOf(job),
        placements: store.placementsOf(job),
        checkpoints: store.checkpointsOf(job),
        capacity: () => store.capacityFor(job),
        nodeStates,
        confirmedMissing: found.missing,
        refusedPods: found.refused,
        ...(progress === undefined ? {} : { progress }),
        ...(planning === undefined ? {} : { planning }),
      },
      now(),
    );
    for (const action of decision.actions) if (action.kind === 'createPlacement') store.reserve(action.spec);
    return { job, decision };
  }

  async #record(job: TrainingJob, decision: Decision): Promise<void> {
    // A reservation belongs to an action, and none is performed in this pass.
    this.#options.store.release(job);
    try {
      const written = await this.#options.store.writeStatus(job, decision.status);
      this.#options.announce(written, decision.events);
    } catch (error) {
      // Somebody changed the job while we looked: the store has fetched it, and the next pass looks again.
      if (!isConflict(error)) throw error;
    }
  }

  /** Performs actions in order, those of one kind side by side; answers with what the cluster said that no cache shows. */
  async #perform(job: TrainingJob, actions: readonly Action[]): Promise<Findings> {
    const found = { missing: new Set<string>(), refused: new Map<string, string>() };
    for (const group of groupedByKind(actions)) {
      const results = await Promise.allSettled(group.map((action) => this.#performOne(job, action, found)));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed === undefined) continue;
      if (needsAPerson(failed.reason)) this.#options.warn(job, messageOf(failed.reason));
      throw failed.reason;
    }
    return found;
  }

  async #performOne(job: TrainingJob, action: Action, found: WritableFindings): Promise<void> {
    const { store, planner } = this.#options;
    switch (action.kind) {
      case 'addFinalizer':
        return unlessConflict(store.addFinalizer(job));
      case 'removeFinalizer':
        return unlessConflict(store.removeFinalizer(job));
      case 'planJob':
        return planner.ask(job, action.question);
      case 'forgetPlanning':
        return planner.forget(job.metadata.uid);
      case 'createPlacement':
        // Kept when this fails, since it may have been done all the same; the next look at the job tells.
        await store.createPlacement(job, action);
        return store.release(job);
      case 'deletePlacements':
        await Promise.all(action.placements.map((placement) => store.deletePlacement(job, placement)));
        return undefined;
      case 'createPod':
        return store.createPod(job, this.#manifest(job, action)).catch((error: unknown) => {
          if (!isRefusal(error)) throw error;
          found.refused.set(action.name, messageOf(error));
        });
      case 'confirmMissingPods':
        await Promise.all(
          action.names.map(async (name) => {
            if (!(await store.readLivePod(job, name))) found.missing.add(name);
          }),
        );
        return undefined;
      case 'refuseLaunchers':
        return this.#options.refuseLaunchers(job, action.epoch);
      case 'liftGates':
        await Promise.all(action.pods.map((pod) => store.liftGate(job, pod)));
        return undefined;
      case 'deletePods': {
        const { gracePeriodSeconds } = action;
        await Promise.all(action.pods.map((pod) => store.deletePod(job, { ...pod, gracePeriodSeconds })));
        return undefined;
      }
      case 'markCheckpointDamaged':
        return store.markCheckpointDamaged(job, action);
      case 'createCheckpoint':
        return store.createCheckpoint(job, action);
    }
  }

  #manifest(
    job: TrainingJob,
    action: { readonly name: string; readonly podIndex: number; readonly placement: PlacementSpec },
  ): Record<string, unknown> {
    const { placement, podIndex, name } = action;
    // Defaults that a resource stored by an earlier version lacks are filled in here, and what cannot be read is told in one sentence.
    const spec = specOfEpoch(TrainingJobSpec.parse(job.spec), placement);
    const saveDirectory = saveDirectoryOf({ ...job, spec }, placement.epoch);
    const rendered = renderRank(spec, {
      ...(saveDirectory === undefined ? {} : { saveDirectory: `${POD_PATHS.checkpoints}/${saveDirectory}` }),
      ...(placement.resume === undefined ? {} : { resumeFrom: `${POD_PATHS.checkpoints}/${placement.resume.path}` }),
      ...(spec.data === undefined ? {} : { dataPath: inside(POD_PATHS.data, spec.data.path) }),
    });
    if (rendered.kind === 'refused') throw new Error(`${rendered.reason}; ${rendered.alternative}`);
    const context = { ...this.#options.pods(), engine: rendered, saveDirectory, name };
    return toPod({ job: { ...job, spec }, placement: { spec: placement } }, podIndex, context);
  }
}

interface WritableFindings {
  readonly missing: Set<string>;
  readonly refused: Map<string, string>;
}

/** Pods that the cluster does not have, and those that it refuses to make, in its words. */
interface Findings {
  readonly missing: ReadonlySet<string>;
  readonly refused: ReadonlyMap<string, string>;
}

/** Enough for a gang's whole start (finalizer, placement, status, pods, status, gates, status) in one go. */
const MAX_PASSES = 12;
const RETRY_SOON_MS = 1_000;

function inside(directory: string, path: string): string {
  return path === '' ? directory : `${directory}/${path}`;
}

/**
 * Nodes of the epoch that runs or is about to, and those under pods that have not ended, whatever their epoch: a pod on a dead node is
 * given up only by one who knows that the node is dead.
 */
function nodesInUse(
  job: TrainingJob,
  { placements, pods }: { readonly placements: readonly Placement[]; readonly pods: readonly ObservedPod[] },
): readonly string[] {
  const epoch = job.status?.epoch ?? 0;
  const placed = placements.filter(({ spec }) => spec.epoch >= epoch).flatMap(({ spec }) => spec.nodes);
  const held = pods.filter((pod) => pod.ours && !['Succeeded', 'Failed'].includes(pod.phase));
  return [...placed, ...held.flatMap(({ nodeName }) => nodeName ?? [])];
}

function groupedByKind(actions: readonly Action[]): readonly (readonly Action[])[] {
  const groups: Action[][] = [];
  for (const action of actions) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.kind === action.kind) last.push(action);
    else groups.push([action]);
  }
  return groups;
}

/** A quota, a policy or the object itself stands in the way: only somebody who changes one of them helps. */
function needsAPerson(error: unknown): boolean {
  return !isRetryable(error) && !isConflict(error) && !(error instanceof NotLeadingError);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function unlessConflict(write: Promise<void>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isConflict(error)) throw error;
  });
}
