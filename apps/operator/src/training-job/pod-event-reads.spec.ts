import { KubeApiError, type KubeClient } from '@coxswain/kube';
import { readPodWarning } from './pod-event-reads.ts';

type ListOptions = Parameters<KubeClient['list']>[1];

const event = (reason: string, message: string, lastTimestamp: string, type = 'Warning') => ({
  ...{ metadata: { name: `${reason}${lastTimestamp}` }, type, reason, message, lastTimestamp },
});
const MOUNT = event(
  'FailedMount',
  'MountVolume.SetUp failed for volume "s" : secret "job-aws" not found',
  '2026-01-01T00:01:00Z',
);

describe('what the kubelet reports about a pod', () => {
  const read = async (list: KubeClient['list']): Promise<string | undefined> =>
    readPodWarning({ list }, 'lab', { name: 'a', uid: 'u' });
  const listing = (items: readonly object[], asked: ListOptions[] = []) =>
    ((_path: string, options: ListOptions) => {
      asked.push(options);
      return Promise.resolve({ items });
    }) as unknown as KubeClient['list'];

  it.each<[string, readonly object[], string | undefined]>([
    [
      'is its newest warning',
      [event('FailedMount', 'old', '2026-01-01T00:00:00Z'), MOUNT],
      `FailedMount: ${MOUNT.message}`,
    ],
    [
      'is the one with a reason',
      [MOUNT, event('FailedMount', 'Unable to attach or mount volumes: unmounted volumes=[s]', '2026-01-01T00:09:00Z')],
      `FailedMount: ${MOUNT.message}`,
    ],
    ['is nothing where all is well', [event('Scheduled', 'assigned', '2026-01-01T00:00:00Z', 'Normal')], undefined],
    [
      'is made safe and bounded',
      [event('Failed', `a\u001b[31m\n${'x'.repeat(900)}`, '')],
      `Failed: a ${'x'.repeat(501)}…`,
    ],
  ])('%s', async (_what, items, want) => {
    const asked: ListOptions[] = [];
    expect(await read(listing(items, asked))).toBe(want);
    expect(asked[0]?.fieldSelector).toBe('involvedObject.uid=u,type=Warning');
  });

  it('is unknown where Events may not be read', async () => {
    const error = new KubeApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    expect(await read((() => Promise.reject(error)) as unknown as KubeClient['list'])).toBeUndefined();
  });
});
