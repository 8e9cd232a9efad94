import type { ContainerStatus } from '../kube/kube-types.ts';
import type { ContainerRecord, ContainerState } from './pod-status.ts';

type Terminated = Extract<ContainerState, { kind: 'terminated' }>;

/** Of a container that never started; what a kubelet writes then. */
export const NEVER = '0001-01-01T00:00:00Z';

/**
 * The record of a container for which an earlier agent (or this one, before its node was lost) reported `before`. Its processes are gone: a kubelet
 * on a rebooted machine finds and reports the same.
 */
export function afterEarlierLife(
  record: ContainerRecord,
  before: ContainerStatus | undefined,
  { restarts, now }: { readonly restarts: boolean; readonly now: string },
): ContainerRecord {
  const count = before?.restartCount ?? 0;
  const started = before?.state.running?.startedAt;
  const ended = before?.state.terminated;
  if (ended !== undefined) {
    const { containerID: _, ...terminated } = ended;
    return { ...record, state: { kind: 'terminated', ...terminated }, restarts: count };
  }
  if (started === undefined) return record;
  const lost = lostContainer(started, now);
  return restarts ? { ...record, last: lost, restarts: count + 1 } : { ...record, state: lost, restarts: count };
}

/** The record of a container whose pod has ended: one that never ran will not run any more. */
export function afterTheEnd(record: ContainerRecord, now: string): ContainerRecord {
  if (record.state.kind !== 'waiting') return record;
  const message = 'The container could not be located when the pod was deleted.';
  return { ...record, state: { ...lostContainer(NEVER, now), message } };
}

/** What a container waits for while its image is missing: the first time an error, from then on the next try. */
export function withoutImage(before: ContainerState, image: string, problem: string): ContainerState {
  const hasWaited =
    before.kind === 'waiting' && (before.reason.startsWith('ErrImagePull') || before.reason === 'ImagePullBackOff');
  if (!hasWaited) return { kind: 'waiting', reason: 'ErrImagePull', message: problem };
  const message = `Back-off pulling image "${image}": ErrImagePull: ${problem}`;
  return { kind: 'waiting', reason: 'ImagePullBackOff', message };
}

function lostContainer(startedAt: string, finishedAt: string): Terminated {
  return {
    kind: 'terminated',
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
    startedAt,
    finishedAt,
  };
}
