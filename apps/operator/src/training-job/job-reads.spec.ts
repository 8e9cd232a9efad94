import { NODE_MARKS } from '@coxswain/api-types';
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
