import type { ContainerStatus } from '../kube/kube-types.ts';
import { afterEarlierLife, afterTheEnd, NEVER, withoutImage } from './container-records.ts';
import type { ContainerRecord, ContainerState } from './pod-status.ts';

const NOW = '2026-11-22T03:00:00Z';
const EARLIER = '2026-11-22T02:00:00Z';
const WAITING: ContainerState = { kind: 'waiting', reason: 'ContainerCreating' };
const fresh: ContainerRecord = { container: { name: 'rank', image: 'engine' }, state: WAITING, restarts: 0 };
const reported = (state: ContainerStatus['state'], restartCount: number): ContainerStatus =>
  ({ name: 'rank', image: 'engine', state, restartCount }) as ContainerStatus;
const running = reported({ running: { startedAt: EARLIER } }, 2);
const ended = { exitCode: 3, reason: 'Error', startedAt: EARLIER, finishedAt: EARLIER };

describe('a container that an earlier agent reported', () => {
  it('as running is lost, and starts again where its pod restarts', () => {
    expect(afterEarlierLife(fresh, running, { restarts: true, now: NOW })).toEqual({
      ...fresh,
      restarts: 3,
      last: expect.objectContaining({ reason: 'ContainerStatusUnknown', exitCode: 137, startedAt: EARLIER }),
    });
  });

  it('as running has failed where its pod never restarts', () => {
    expect(afterEarlierLife(fresh, running, { restarts: false, now: NOW })).toEqual({
      ...fresh,
      restarts: 2,
      state: expect.objectContaining({ kind: 'terminated', exitCode: 137, finishedAt: NOW }),
    });
  });

  it.each([true, false])('as ended stays ended (restarts: %s)', (restarts) => {
    const before = reported({ terminated: { ...ended, containerID: 'local-node://1' } }, 1);

    expect(afterEarlierLife(fresh, before, { restarts, now: NOW })).toEqual({
      ...fresh,
      restarts: 1,
      state: { kind: 'terminated', ...ended },
    });
  });

  it.each<[string, ContainerStatus | undefined]>([
    ['as waiting', reported({ waiting: { reason: 'ErrImagePull' } }, 0)],
    ['not at all', undefined],
  ])('%s starts as if it were new', (_, before) => {
    expect(afterEarlierLife(fresh, before, { restarts: true, now: NOW })).toEqual(fresh);
  });
});

describe('a container of a pod that has ended', () => {
  it('that never ran is reported as not found', () => {
    expect(afterTheEnd(fresh, NOW).state).toEqual(
      expect.objectContaining({
        kind: 'terminated',
        reason: 'ContainerStatusUnknown',
        startedAt: NEVER,
        finishedAt: NOW,
      }),
    );
  });

  it('that ran keeps what became of it', () => {
    const record: ContainerRecord = { ...fresh, state: { kind: 'terminated', ...ended } };

    expect(afterTheEnd(record, NOW)).toBe(record);
  });
});

describe('a container without its image', () => {
  it.each<[string, ContainerState, string, string]>([
    ['says what is wrong at first', WAITING, 'ErrImagePull', 'not found'],
    [
      'backs off after that',
      { kind: 'waiting', reason: 'ErrImagePull' },
      'ImagePullBackOff',
      'Back-off pulling image "engine": ErrImagePull: not found',
    ],
    [
      'goes on backing off',
      { kind: 'waiting', reason: 'ImagePullBackOff' },
      'ImagePullBackOff',
      'Back-off pulling image "engine": ErrImagePull: not found',
    ],
  ])('%s', (_, before, reason, message) => {
    expect(withoutImage(before, 'engine', 'not found')).toEqual({ kind: 'waiting', reason, message });
  });
});
