/** Bodies of the writes to the status of a Workload. All are merge patches, which replace a list whole, so they are made from the Workload as it was just read. */

type Json = Readonly<Record<string, unknown>>;

/** Reasons of an eviction after which the Workload may be admitted at once. After others Kueue waits or an administrator has to act (v0.19.2, jobframework). */
const REQUEUED_AT_ONCE: readonly string[] = ['Preempted', 'NodeFailures'];

/**
 * Gives the quota back in one write, as jobframework of Kueue does. `found`: the Workload as the API server has it; a patch with its resourceVersion fails if
 * it has changed.
 */
export function releasePatch(found: unknown, now: Date): Json {
  const { metadata, status } = found as { metadata?: Json; status?: Json };
  const conditions = list(status?.['conditions']);
  const evicted = conditions.find((one) => one['type'] === 'Evicted' && one['status'] === 'True');
  const message = String(evicted?.['message'] ?? 'Coxswain gave the quota back, because the job needs other pods.');
  const generation = metadata?.['generation'];
  const common = {
    message,
    lastTransitionTime: seconds(now),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const isTold = conditions.some(({ type }) => type === 'PodsReady');
  const changed = [
    // Kueue counts the time of the next start anew.
    ...(isTold ? [{ type: 'PodsReady', status: 'False', reason: 'WaitForStart', ...common, message: NOT_READY }] : []),
    { type: 'QuotaReserved', status: 'False', reason: 'Pending', ...common },
    { type: 'Admitted', status: 'False', reason: 'NoReservation', ...common },
    ...(evicted === undefined
      ? []
      : [
          {
            type: 'Requeued',
            status: REQUEUED_AT_ONCE.includes(String(evicted['reason'])) ? 'True' : 'False',
            reason: String(evicted['reason']),
            ...common,
          },
        ]),
  ];
  return statusPatch(found, { admission: null, conditions: withConditions(conditions, changed) });
}

/**
 * Whether all pods run, with the reasons of Kueue's jobframework: after a False that follows a True Kueue counts the time of recovery, and before the first True
 * the time of start.
 */
export function podsReadyPatch(found: unknown, areReady: boolean, now: Date): Json {
  const conditions = list((found as { status?: Json }).status?.['conditions']);
  const before = conditions.find(({ type }) => type === 'PodsReady');
  const recovers = ['WaitForRecovery', 'Recovered'].includes(String(before?.['reason']));
  const unready = before?.['status'] === 'True' || recovers ? 'WaitForRecovery' : 'WaitForStart';
  const changed = {
    type: 'PodsReady',
    status: areReady ? 'True' : 'False',
    reason: areReady ? (recovers ? 'Recovered' : 'Started') : unready,
    message: areReady ? 'Every rank of the gang has started.' : NOT_READY,
    lastTransitionTime: seconds(now),
  };
  return statusPatch(found, { conditions: withConditions(conditions, [changed]) });
}

const NOT_READY = 'Not every rank of the gang has started.';

/** Ends the Workload, which gives its quota back at once. */
export function finishPatch(found: unknown, outcome: 'Succeeded' | 'Failed', now: Date): Json {
  const conditions = list((found as { status?: Json }).status?.['conditions']);
  const message = outcome === 'Succeeded' ? 'The TrainingJob is complete.' : 'The TrainingJob has failed.';
  const finished = { type: 'Finished', status: 'True', reason: outcome, message, lastTransitionTime: seconds(now) };
  return statusPatch(found, { conditions: withConditions(conditions, [finished]) });
}

/** The state of one check; the others stay as they are. */
export function answerPatch(
  found: unknown,
  answer: { readonly check: string; readonly state: string; readonly message: string },
  now: Date,
): Json {
  const checks = list((found as { status?: Json }).status?.['admissionChecks']);
  const changed = checks.map((one) => {
    if (one['name'] !== answer.check) return one;
    const since = one['state'] === answer.state ? one['lastTransitionTime'] : seconds(now);
    return { ...one, state: answer.state, message: answer.message, lastTransitionTime: since };
  });
  return statusPatch(found, { admissionChecks: changed });
}

function statusPatch(found: unknown, status: Json): Json {
  const { resourceVersion, uid } = (found as { metadata: Json }).metadata;
  return { metadata: { resourceVersion, uid }, status };
}

/** A condition keeps its time while its status is the same. */
function withConditions(present: readonly Json[], changed: readonly Json[]): readonly Json[] {
  const kept = present.filter(({ type }) => !changed.some((one) => one['type'] === type));
  const merged = changed.map((one) => {
    const before = present.find(({ type }) => type === one['type']);
    return before?.['status'] === one['status'] ? { ...one, lastTransitionTime: before?.['lastTransitionTime'] } : one;
  });
  return [...kept, ...merged];
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** Times of Kubernetes have no fractions. */
function seconds(now: Date): string {
  return `${now.toISOString().slice(0, 19)}Z`;
}
