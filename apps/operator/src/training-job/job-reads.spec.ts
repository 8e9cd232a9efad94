import { NODE_MARKS } from '@coxswain/api-types';
import { KubeApiError, type KubeClient } from '@coxswain/kube';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { JobReads } from './job-reads.ts';

const MINUTE_MS = 60_000;

/** What is read of node-a, which says so of the time at which it goes: so many minutes from now, or as written. */
function readsOf(goes: number | string | undefined): {
  readonly reads: JobReads;
  readonly atMs: (minutes: number) => number;
} {
  const script = new CacheScript();
  const atMs = (minutes: number): number => script.clock.now().getTime() + minutes * MINUTE_MS;
  const mark = typeof goes === 'number' ? new Date(atMs(goes)).toISOString() : goes;
  script.node('node-a', mark === undefined ? {} : { annotations: { [NODE_MARKS.maintenance]: mark } });
  const unused = (): never => {
    throw new Error('what the cache shows is asked of nobody');
  };
  const client = { get: unused, list: unused };
  return { reads: new JobReads({ client, cache: script.cache, now: () => script.clock.now() }), atMs };
}

describe('that a node will go away', () => {
  it.each<[string, number | string | undefined, 'coming' | 'due' | 'nothing']>([
    ['in two hours is nothing yet', 120, 'nothing'],
    ['in a minute more than an hour is nothing yet', 61, 'nothing'],
    ['within the hour is coming, so that its gang can save', 59, 'coming'],
    ['in twenty minutes is coming', 20, 'coming'],
    ['in ten minutes is due: its gang leaves, which saves', 10, 'due'],
    ['now is due', 'now', 'due'],
    ['is nothing of a node that does not say so', undefined, 'nothing'],
  ])('%s', (_sentence, goes, want) => {
    const { reads } = readsOf(goes);
    const coming = reads.comingNoticeOf('node-a');
    const due = reads.noticeOf('node-a');
    expect([coming?.rule, due?.rule]).toEqual([
      want === 'coming' ? 'maintenance' : undefined,
      want === 'due' ? 'maintenance' : undefined,
    ]);
  });

  it('is known with the time from which it does', () => {
    const { reads, atMs } = readsOf(30);
    expect(reads.comingNoticeOf('node-a')?.beginsAtMs).toBe(atMs(30));
  });

  it('is nothing of a node that the cache does not show', () => {
    expect(readsOf(30).reads.comingNoticeOf('gone')).toBeUndefined();
  });
});

describe('a live read of a gang of 250 pods', () => {
  it.each<[string, 'same' | 'newer', boolean]>([
    ['keeps pods as the watch reduced them if they are the same version', 'same', true],
    ['reduces pods of another version', 'newer', false],
  ])('%s, and asks for at most 100 pods at a time', async (_sentence, version, isKept) => {
    const script = new CacheScript();
    const job = script.job('runs');
    const whole = Array.from({ length: 250 }, (_, index) => script.pod(`runs-${index}`, { job }));
    const live = whole.map((pod) =>
      version === 'same' ? pod : { ...pod, metadata: { ...pod.metadata, resourceVersion: '999999' } },
    );
    const sizes: number[] = [];
    const client = {
      get: async (): Promise<never> => {
        throw new KubeApiError({ status: 404, reason: 'NotFound', message: 'none' });
      },
      list: async (...[, { limit = 0, continue: from = '0' } = {}]: Parameters<KubeClient['list']>): Promise<never> => {
        const items = live.slice(Number(from), Number(from) + limit);
        sizes.push(items.length);
        const next = Number(from) + limit;
        return { items, metadata: next < live.length ? { continue: String(next) } : {} } as never;
      },
    };
    const reads = new JobReads({ client, cache: script.cache, now: () => script.clock.now() });
    const before = reads.podsOf(job);
    await reads.readLive(job, { podNames: [], nodes: [] });
    const after = reads.podsOf(job);
    expect([sizes, after.length]).toEqual([[100, 100, 50], 250]);
    expect(after.every((pod, index) => pod === before[index])).toBe(isKept);
  });
});
