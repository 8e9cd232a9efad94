/*
 * One bug of each class that controllers are known for, planted into the real code. More than 400 lines: it is one table.
 *
 * The classes and their evidence: Sieve (OSDI 2022), Acto (SOSP 2023), KEP-5647 and the issue trackers of Kubernetes, Kueue, JobSet, KubeRay and
 * Argo. C25 (webhooks) and C35 (rows against resources) are left out: the operator has no webhook, and the API's own tests hold the second.
 */

/** A bug, as an edit of one file of ours. */
export interface PlantedBug {
  /** `C1` to `C34`. */
  readonly bugClass: string;
  /** What the class is, in a few words. */
  readonly title: string;
  /** What this bug does. */
  readonly bug: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly before: string;
  readonly after: string;
  /** A second place of the same file, where one alone would change nothing. */
  readonly and?: Pick<PlantedBug, 'before' | 'after'>;
  /** The test file that must fail, and a piece of the name of the test that does. */
  readonly test: string;
  readonly caughtBy: string;
}

const PERFORM = 'libs/lifecycle/src/perform/reconcile-job.ts';
const STORE = 'apps/operator/src/training-job/kubernetes-training-job-store.ts';
const STORE_TEST = 'apps/operator/src/training-job/kubernetes-training-job-store.itest.ts';
const RECONCILER_TEST = 'apps/operator/src/training-job/training-job.reconciler.spec.ts';
const CACHE = 'libs/kube/src/object-cache.ts';
const CACHE_TEST = 'libs/kube/src/object-cache.spec.ts';
const REFLECTOR = 'libs/kube/src/reflector.ts';
const REFLECTOR_TEST = 'libs/kube/src/reflector.spec.ts';
const ACTIONS = 'libs/lifecycle/src/decide/actions-of.ts';
const ACTIONS_TEST = 'libs/lifecycle/src/decide/actions-of.spec.ts';
const FACTS = 'libs/lifecycle/src/observation/facts.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    bugClass: 'C1',
    title: 'a crash between two writes',
    bug: 'acts before it has recorded what it is about to do',
    file: PERFORM,
    before: 'if (decision.readsFirst !== true && !isRecordedAs(job.status, decision.status)) {',
    after: 'if (decision.actions.length === 0 && !isRecordedAs(job.status, decision.status)) {',
    test: RECONCILER_TEST,
    caughtBy: 'writes each intent before its effect',
  },
  {
    bugClass: 'C1',
    title: 'a fence that nobody recorded',
    bug: 'tells launchers of the next incarnation when a rank has failed, before status records it',
    file: 'libs/lifecycle/src/launchers/launcher-orders.ts',
    before: 'const newest = attempt.incarnation ?? 1;',
    after:
      "const newest = (attempt.incarnation ?? 1) + Number([...gang.launchers.values()].some(({ state }) => state === 'reaped'));",
    test: 'libs/lifecycle/src/launchers/launcher-orders.spec.ts',
    caughtBy: 'nothing when the first failure is not answered yet',
  },
  {
    bugClass: 'C2',
    title: 'the write is done, the answer is lost',
    bug: 'takes a name of its own that is taken for an error',
    file: STORE,
    before: `      if (!isAlreadyExists(error)) throw error;
      await this.#reads.readPod(`,
    after: `      throw error;
      await this.#reads.readPod(`,
    test: STORE_TEST,
    caughtBy: 'is shown at once, and made once when it is made twice',
  },
  {
    bugClass: 'C3',
    title: 'a cache that lacks its own writes',
    bug: 'does not lay the answers to its own creates over the cache',
    file: 'libs/kube/src/own-writes.ts',
    before: 'if (written !== undefined) current.push(written.object);',
    after: 'if (written === undefined) current.push(...cached);',
    test: 'libs/kube/src/own-writes.spec.ts',
    caughtBy: 'show an object that was created and has not been heard of yet',
  },
  {
    bugClass: 'C4',
    title: 'two informers disagree',
    bug: 'deletes on the word of a cache',
    file: 'libs/lifecycle/src/decide/proof.ts',
    before: "\n  'deletePods',",
    after: '',
    test: 'libs/lifecycle/src/decide/proof.spec.ts',
    caughtBy: 'to delete pods of a later epoch than the job is seen in',
  },
  {
    bugClass: 'C5',
    title: 'time travel on restart or failover',
    bug: 'believes a list that is older than what it has seen',
    file: REFLECTOR,
    before: 'if (isOlder(resourceVersion, floor)) {',
    after: 'if (isOlder(resourceVersion, floor) && floor === "") {',
    test: REFLECTOR_TEST,
    caughtBy: 'refuses a list older than what it has seen',
  },
  {
    bugClass: 'C6',
    title: 'a state that was never observed',
    bug: 'counts a gang as finished only if it has seen it run before',
    file: 'libs/lifecycle/src/epoch/record-observation.ts',
    before: "if (attempt?.stage !== 'Released' || !isFinished(facts, attempt) || ",
    after: "if (attempt?.stage !== 'Released' || attempt.runningAt === undefined || !isFinished(facts, attempt) || ",
    and: { before: ".every((pod) => pod.running || pod.phase === 'Succeeded')", after: '.every((pod) => pod.running)' },
    test: 'apps/operator/src/stale-views.itest.ts',
    caughtBy: 'ends well although nobody saw it run',
  },
  {
    bugClass: 'C7',
    title: 'the same name, another UID',
    bug: 'goes on with a job that has taken the name of the one it looked at',
    file: PERFORM,
    before: 'if (observedJob === undefined || observedJob.job.metadata.uid !== jobUid) return {};',
    after: "if (observedJob === undefined || jobUid === '') return {};",
    test: RECONCILER_TEST,
    caughtBy: 'is left alone when another job takes its name',
  },
  {
    bugClass: 'C8',
    title: 'a terminating object is read as gone',
    bug: 'does not wait for a pod that is being deleted',
    file: FACTS,
    before: 'if (isTerminal(pod) || willNeverRun(pod)) return false;',
    after: 'if (isTerminal(pod) || willNeverRun(pod) || pod.deletionTimestamp !== undefined) return false;',
    test: 'libs/lifecycle/src/observation/facts.spec.ts',
    caughtBy: 'has its grace and two minutes on a node that answers',
  },
  {
    bugClass: 'C9',
    title: 'events twice, out of order, or of an older version',
    bug: 'lets an older version of an object replace a newer one',
    file: CACHE,
    before: "if (order !== undefined && order < 0) return 'stale';",
    after: "if (order !== undefined && order < -1) return 'stale';",
    test: CACHE_TEST,
    caughtBy: 'an older version never replaces',
  },
  {
    bugClass: 'C10',
    title: 'a torn or alien line of a watch',
    bug: 'passes over the end of a watch inside a line',
    file: REFLECTOR,
    before: "return { relist: false, failure: 'truncated-line', error };",
    after: 'return { relist: false };',
    test: REFLECTOR_TEST,
    caughtBy: 'a truncated line',
  },
  {
    bugClass: 'C11',
    title: '410 Gone and compaction',
    bug: 'watches on from a version that the server has forgotten',
    file: REFLECTOR,
    before: `        const relist = isGone(error);
        return { relist, failure: relist ? 'gone' : 'error-event', error };`,
    after: `        const relist = isGone(error);
        return { relist: false, failure: relist ? 'gone' : 'error-event', error };`,
    test: REFLECTOR_TEST,
    caughtBy: 'an ERROR of 410',
  },
  {
    bugClass: 'C12',
    title: 'a watch that dies without a word',
    bug: 'waits for ever on a watch that has fallen silent',
    file: 'libs/kube/src/idle-cut.ts',
    before: "cut.abort(new DOMException(`no byte for ${limitMs} ms`, 'TimeoutError'));",
    after: '',
    test: REFLECTOR_TEST,
    caughtBy: 'silence',
  },
  {
    bugClass: 'C13',
    title: 'a server that pushes back',
    bug: 'comes back before Retry-After is over',
    file: 'libs/kube/src/backoff.ts',
    before: 'return Math.max(delay, tries.retryAfterMs * (1 + random() / 10));',
    after: 'return delay;',
    test: 'libs/kube/src/timing.spec.ts',
    caughtBy: 'is never shorter than what the server asked for',
  },
  {
    bugClass: 'C14',
    title: 'a leader that was asleep while another took over',
    bug: 'writes without reading the lease at the last moment',
    file: 'apps/operator/src/cluster/leading-client.ts',
    before: 'delete: (path, options) => write(options, (bounds) => client.delete(path, { ...options, ...bounds })),',
    after: 'delete: (path, options) => client.delete(path, options),',
    test: 'apps/operator/src/cluster/leading-client.spec.ts',
    caughtBy: 'delete',
  },
  {
    bugClass: 'C15',
    title: 'clocks that differ',
    bug: 'judges a lease by the wall clock',
    file: 'libs/kube/src/leader-lease.ts',
    before: 'return this.#options.clock.monotonicMs();',
    after: 'return this.#options.clock.now().getTime();',
    test: 'libs/kube/src/leader-lease.spec.ts',
    caughtBy: 'is never held by two at once while the holder is alive, whatever their wall clocks say',
  },
  {
    bugClass: 'C16',
    title: 'the spec changes during a reconcile',
    bug: 'writes a status over a job that somebody has edited since it was looked at',
    file: STORE,
    before: 'const body = { ...job, metadata: versionOf(job), status };',
    after:
      'const { resourceVersion: _seen, ...metadata } = versionOf(job);\n    const body = { ...job, metadata, status };',
    test: STORE_TEST,
    caughtBy: 'that somebody edited is a conflict for who saw it before',
  },
  {
    bugClass: 'C17',
    title: 'deletion at every stage',
    bug: 'lets a deleted job go while its pods live',
    file: ACTIONS,
    before: "return facts.pods.some((pod) => isLive(facts, pod)) ? [] : [{ kind: 'removeFinalizer' }];",
    after: "return [{ kind: 'removeFinalizer' }];",
    test: ACTIONS_TEST,
    caughtBy: 'a deleted job waits for a pod that belongs to no attempt under way',
  },
  {
    bugClass: 'C18',
    title: 'a create after the delete',
    bug: 'makes a gang before the finalizer stands that will clean it up',
    file: 'libs/lifecycle/src/decide/situation.ts',
    before: 'const maySettle = facts.hasFinalizer && isSettled(recorded, planned);',
    after: 'const maySettle = isSettled(recorded, planned);',
    test: ACTIONS_TEST,
    caughtBy: 'a new job gets its finalizer before anything is made',
  },
  {
    bugClass: 'C19',
    title: 'writes of status that race',
    bug: 'counts a failure again at each reconcile',
    file: 'libs/lifecycle/src/epoch/record-observation.ts',
    before: `  if (attempt === undefined || attempt.stage === 'Stopping' || isStoppedUnrecorded(facts, attempt)) return record;
  const failure`,
    after: `  if (attempt === undefined || isStoppedUnrecorded(facts, attempt)) return record;
  const failure`,
    test: 'libs/lifecycle/src/decide/restarts.spec.ts',
    caughtBy: 'removes those already made, charges nothing and says so in its words',
  },
  {
    bugClass: 'C20',
    title: 'a poison object',
    bug: 'trusts that a list in a pod holds objects',
    file: 'apps/operator/src/cluster/cached-pod.ts',
    before: 'return Array.isArray(value) ? value.map(record) : [];',
    after: 'return Array.isArray(value) ? (value as Fields[]) : [];',
    test: 'apps/operator/src/cluster/cluster.spec.ts',
    caughtBy: 'null inside lists',
  },
  {
    bugClass: 'C21',
    title: 'a handler that throws',
    bug: 'loses the error of an asynchronous handler of the cache',
    file: CACHE,
    before: 'if (result instanceof Promise) result.catch(failed);',
    after: 'if (result instanceof Promise) result.catch(() => undefined);',
    test: CACHE_TEST,
    caughtBy: 'a handler that throws or rejects is reported, and the others hear of the change',
  },
  {
    bugClass: 'C22',
    title: 'a node vanishes, and its pod comes back',
    bug: 'gives a pod up at once where its node does not answer',
    file: FACTS,
    before: '(doesAnswer(nodeStateOf(facts, pod.nodeName)) ? facts.timeouts.stoppingMs : FENCE_AFTER_MS)',
    after: '(doesAnswer(nodeStateOf(facts, pod.nodeName)) ? facts.timeouts.stoppingMs : -graceSeconds * 1000)',
    test: 'libs/lifecycle/src/observation/facts.spec.ts',
    caughtBy: 'has its grace and half a minute on a node that does not answer',
  },
  {
    bugClass: 'C23',
    title: 'nodes that flap',
    bug: 'restarts for ever, since a lost node costs nothing',
    file: 'libs/lifecycle/src/failure/restart-budget.ts',
    before: 'export const MAX_FREE_RESTARTS_IN_A_ROW = 10;',
    after: 'export const MAX_FREE_RESTARTS_IN_A_ROW = 1e9;',
    test: 'libs/lifecycle/src/failure/restart-budget.spec.ts',
    caughtBy: 'the eleventh is charged',
  },
  {
    bugClass: 'C24',
    title: 'suspend and resume at the wrong moment',
    bug: 'lets a gang start although a suspend was asked for while its pods were made',
    file: 'libs/lifecycle/src/epoch/record-observation.ts',
    before: 'if (uncreatedIndices(facts, attempt).length > 0 || isStopRequested(facts)) return record;',
    after: 'if (uncreatedIndices(facts, attempt).length > 0) return record;',
    test: 'libs/lifecycle/src/decide/earlier-gangs.spec.ts',
    caughtBy: 'suspended when its pods are made and before they may start is never released',
  },
  {
    bugClass: 'C26',
    title: 'versions beside each other',
    bug: 'gives up a whole status for one field that it cannot read',
    file: 'libs/lifecycle/src/record/job-record.ts',
    before: 'return value.flatMap((entry: unknown) => parsed(entry, schema) ?? []);',
    after: 'return value.every((entry: unknown) => parsed(entry, schema) !== undefined) ? (value as T[]) : [];',
    test: 'libs/lifecycle/src/record/job-record.spec.ts',
    caughtBy: 'one that cannot be read is passed over',
  },
  {
    bugClass: 'C27',
    title: 'names that collide once they are cut',
    bug: 'makes names of jobs of one name alike, whatever their UIDs',
    file: 'libs/api-types/src/child-names.ts',
    before: '-${job.uid.slice(0, 8)}`',
    after: '`',
    test: 'libs/api-types/src/gang-names.spec.ts',
    caughtBy: 'tiny-gpt',
  },
  {
    bugClass: 'C28',
    title: 'adoption of what is not one’s own',
    bug: 'takes a pod for its own that merely bears its label',
    file: 'apps/operator/src/cluster/cached-pod.ts',
    before: 'const ours = gang !== undefined && gang.ownerUid === jobUid;',
    after: 'const ours = gang !== undefined && gang.jobUid === jobUid;',
    test: 'apps/operator/src/cluster/cluster.spec.ts',
    caughtBy: 'does not take a pod for ours that merely bears our label',
  },
  {
    bugClass: 'C29',
    title: 'a restart that waits for its own dead',
    bug: 'waits for pods that have ended to go away before it restarts',
    file: FACTS,
    before: 'if (isTerminal(pod) || willNeverRun(pod)) return false;',
    after: 'if (willNeverRun(pod)) return false;',
    test: 'libs/lifecycle/src/observation/facts.spec.ts',
    caughtBy: 'has ended',
  },
  {
    bugClass: 'C29',
    title: 'a restart in living pods beside ranks that are left',
    bug: 'begins an incarnation before every launcher has said that the last one is gone',
    file: 'libs/lifecycle/src/observation/incarnation.ts',
    before: "  return launcher.state !== 'running';",
    after: '  return launcher.state.length > 0;',
    test: 'libs/lifecycle/src/launchers/launcher-orders.spec.ts',
    caughtBy: 'nobody begins the next one before all have',
  },
  {
    bugClass: 'C30',
    title: 'a queue in which somebody starves',
    bug: 'never takes a periodic look while there are edits',
    file: 'libs/kube/src/work-queue.ts',
    before: 'const order = this.#picks % 10 === 9 ? PRIORITIES.toReversed() : PRIORITIES;',
    after: 'const order = PRIORITIES;',
    test: 'libs/kube/src/work-queue.spec.ts',
    caughtBy: 'but nobody starves',
  },
  {
    bugClass: 'C31',
    title: 'memory that grows',
    bug: 'remembers every answer to a write for ever',
    file: 'libs/kube/src/own-writes.ts',
    before: `    for (const [uid, { atMs }] of this.#written) {
      if (atMs > before) break;
      this.#forget(uid);
    }`,
    after: '',
    test: 'libs/kube/src/own-writes.spec.ts',
    caughtBy: 'are forgotten after a minute',
  },
  {
    bugClass: 'C32',
    title: 'a flood of events',
    bug: 'writes an Event each time',
    file: 'libs/kube/src/events.ts',
    before: "if (lastAtMs !== undefined && nowMs - lastAtMs < this.#quietMs()) return this.#drop('repeated');",
    after: "if (lastAtMs !== undefined && nowMs < lastAtMs) return this.#drop('repeated');",
    test: 'libs/kube/src/events.spec.ts',
    caughtBy: 'of the same object and reason is written once a minute',
  },
  {
    bugClass: 'C33',
    title: 'a gang split by a quota',
    bug: 'asks for every pod although the first was refused',
    file: PERFORM,
    before: 'if (refused.size > refusedBefore) break;',
    after: 'if (refused.size > 1e9 + refusedBefore) break;',
    test: RECONCILER_TEST,
    caughtBy: 'asks once more where the cluster refuses the pods of a gang after all',
  },
  {
    bugClass: 'C34',
    title: 'checkpoints that are not what they say',
    bug: 'resumes from a checkpoint that an attempt could not load',
    file: 'libs/lifecycle/src/failure/resume-point.ts',
    before: "return ownCheckpoints(record, facts).filter((one) => standingOf(one, standings).kind !== 'damaged');",
    after: 'return ownCheckpoints(record, facts);',
    test: 'libs/lifecycle/src/epoch/next-epoch.spec.ts',
    caughtBy: 'does not begin from a checkpoint that two nodes have found to differ',
  },
];
