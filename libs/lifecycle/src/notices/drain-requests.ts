/**
 * What does a DrainRequest of NVSentinel ask for, and what is the answer? Its node-drainer makes one for each fault of a node, waits for condition
 * `DrainComplete`, and deletes it. The contract: its page "Writing a Drain Plugin".
 */
import { safeText } from '@coxswain/safe-text';
import type { NodeNotice } from './node-notices.ts';

/** Ends a drain. */
const COMPLETE = 'DrainComplete';
/** What the drain waits for. */
const DRAINING = 'Draining';

/** A DrainRequest. */
export interface DrainRequest {
  readonly namespace: string;
  readonly name: string;
  /** Also in a request that names no pod. */
  readonly node: string;
  /** Pods to drain, as `namespace/name`. */
  readonly pods: ReadonlySet<string>;
  /** Of these pods. */
  readonly namespaces: ReadonlySet<string>;
  /** It has an entry that is no list of names: the pods are not all known. */
  readonly isUnread: boolean;
  readonly isAnswered: boolean;
  readonly conditions: readonly Fields[];
}

/** A pod that is bound to the node. */
export interface PodOnNode {
  readonly namespace: string;
  readonly name: string;
  /** Its containers have ended, and none starts again. */
  readonly isOver: boolean;
  /** The job that it belongs to; absent: it is not ours. */
  readonly job?: { readonly name: string; readonly savesCheckpoints: boolean };
}

type Fields = Readonly<Record<string, unknown>>;

/** undefined: the object names no node, so nothing can be drained. */
export function drainRequestOf(object: unknown): DrainRequest | undefined {
  const { metadata, spec, status } = fields(object);
  const { namespace, name, deletionTimestamp } = fields(metadata);
  const { nodeName, podsToDrain } = fields(spec);
  if (typeof namespace !== 'string' || typeof name !== 'string') return undefined;
  if (typeof nodeName !== 'string' || nodeName === '') return undefined;
  const listed = Object.entries(fields(podsToDrain)).flatMap(([of, names]) =>
    list(names).flatMap((one) => (typeof one === 'string' ? [{ of, pod: `${of}/${one}` }] : [])),
  );
  const isRead = Object.values(fields(podsToDrain)).every(
    (names) => Array.isArray(names) && names.every((one) => typeof one === 'string'),
  );
  const isMap = podsToDrain === undefined || podsToDrain === null || fields(podsToDrain) === podsToDrain;
  const conditions = list(fields(status)['conditions']).map(fields);
  const isAnswered =
    deletionTimestamp !== undefined || conditions.some(({ type, status: is }) => type === COMPLETE && is === 'True');
  const pods = new Set(listed.map(({ pod }) => pod));
  const namespaces = new Set(listed.map(({ of }) => of));
  return { namespace, name, node: nodeName, pods, namespaces, isUnread: !isMap || !isRead, isAnswered, conditions };
}

/** What it says to jobs of a namespace with a listed pod: save and leave the node at once. To others it says nothing. */
export function drainNotices(requests: readonly DrainRequest[], namespace: string | undefined): readonly NodeNotice[] {
  return requests
    .filter(({ namespaces, isAnswered }) => !isAnswered && namespaces.has(namespace ?? ''))
    .map(({ name }) => ({ rule: 'nvsentinel-drain', mark: `DrainRequest ${name}`, isRequested: true as const }));
}

/**
 * The conditions of its status from now on; undefined: they stay as they are. `pods`: all pods of the node, read after the request. The drain is complete
 * when no listed pod is there, or what is left of it has ended. Pods of others are not touched, and the drain waits for them too.
 */
export function answerDrain(
  request: DrainRequest,
  pods: readonly PodOnNode[],
  { now, isReady }: { readonly now: Date; readonly isReady: boolean },
): readonly Fields[] | undefined {
  if (request.isAnswered) return undefined;
  if (request.isUnread)
    return withConditions(request, now, [
      { type: DRAINING, status: 'True', reason: 'NotUnderstood', message: NOT_UNDERSTOOD },
    ]);
  const left = pods.filter(({ namespace, name, isOver }) => !isOver && request.pods.has(`${namespace}/${name}`));
  const total = request.pods.size;
  const { node } = request;
  if (left.length > 0)
    return withConditions(request, now, [
      isReady
        ? { type: DRAINING, status: 'True', reason: reasonOf(left), message: whatIsLeft(node, left, total) }
        : { type: DRAINING, status: 'True', reason: 'NodeSilent', message: whatIsStuck(node, left, total) },
    ]);
  const message =
    total === 0
      ? `No pod of node ${node} was to be drained.`
      : `None of the ${count(total, 'pod')} is on node ${node}.`;
  return withConditions(request, now, [
    { type: DRAINING, status: 'False', reason: 'PodsGone', message },
    { type: COMPLETE, status: 'True', reason: 'PodsGone', message },
  ]);
}

const NOT_UNDERSTOOD =
  'spec.podsToDrain has to be a map of namespaces to lists of names of pods. Coxswain cannot read all of it, so it cannot say when the drain is complete.';

function whatIsStuck(node: string, left: readonly PodOnNode[], total: number): string {
  return `${left.length} of ${count(total, 'pod')} ${left.length === 1 ? 'is' : 'are'} on node ${node}, which is not ready: its pods cannot end. Jobs go on elsewhere without it. Reboot the node, or delete these pods by force once nothing runs there.`;
}

type Reason = 'JobsLeave' | 'JobsCannotSave' | 'OtherPods';

/** What takes a person comes first. */
function reasonOf(left: readonly PodOnNode[]): Reason {
  if (left.some(({ job }) => job?.savesCheckpoints === false)) return 'JobsCannotSave';
  return left.some(({ job }) => job !== undefined) ? 'JobsLeave' : 'OtherPods';
}

const SHOWN = 5;

function whatIsLeft(node: string, left: readonly PodOnNode[], total: number): string {
  const jobs = (saves: boolean): readonly string[] => [
    ...new Set(
      left.flatMap(({ namespace, job }) => (job?.savesCheckpoints === saves ? [`${namespace}/${job.name}`] : [])),
    ),
  ];
  const strangers = left.filter(({ job }) => job === undefined).map(({ namespace, name }) => `${namespace}/${name}`);
  const sentences = [
    `${left.length} of ${count(total, 'pod')} ${left.length === 1 ? 'is' : 'are'} on node ${node}.`,
    sentence(jobs(true), 'These jobs save and leave it'),
    sentence(
      jobs(false),
      'These jobs save no checkpoints and would lose their work, so they train on until they are suspended or deleted',
    ),
    sentence(strangers, 'These pods belong to no training job, so Coxswain leaves them alone and waits for them'),
  ];
  return safeText(sentences.filter((one) => one !== '').join(' '), 1_024);
}

function sentence(names: readonly string[], what: string): string {
  if (names.length === 0) return '';
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return `${what}: ${names.toSorted().slice(0, SHOWN).join(', ')}${more}.`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Conditions of others stay. undefined if nothing changes. */
function withConditions(
  { conditions }: DrainRequest,
  now: Date,
  ours: readonly Condition[],
): readonly Fields[] | undefined {
  const of = (type: string): Fields | undefined => conditions.find((one) => one['type'] === type);
  const isSame = ours.every(({ type, status, reason, message }) => {
    const before = of(type);
    return before?.['status'] === status && before['reason'] === reason && before['message'] === message;
  });
  if (isSame) return undefined;
  const others = conditions.filter((one) => !ours.some(({ type }) => type === one['type']));
  return [
    ...others,
    ...ours.map((one) => {
      const before = of(one.type);
      const since = before?.['status'] === one.status ? before['lastTransitionTime'] : undefined;
      return { ...one, lastTransitionTime: typeof since === 'string' ? since : now.toISOString() };
    }),
  ];
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
