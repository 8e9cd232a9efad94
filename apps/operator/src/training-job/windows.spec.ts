import { CacheScript } from '../testing/a-cluster-cache.ts';
import { createClusterScheduler } from './cluster-scheduler.ts';
import { JobReads } from './job-reads.ts';

const MINUTE_MS = 60_000;

/** Two nodes. The Fabric gives node-a a window of an hour that begins in so many minutes. */
function aCluster(inMinutes: number, namespace?: string) {
  const script = new CacheScript();
  const scheduler = createClusterScheduler(script.cache, script.clock);
  for (const name of ['node-a', 'node-b']) script.node(name);
  const job = script.job('tiny');
  const at = (minutes: number): string => new Date(script.clock.now().getTime() + minutes * MINUTE_MS).toISOString();
  const window = { name: 'firmware', nodes: ['node-a'], from: at(inMinutes), until: at(inMinutes + 60) };
  script.cache.stated.replace({ windows: [{ ...window, ...(namespace === undefined ? {} : { namespace }) }] });
  const unused = (): never => {
    throw new Error('only the cache is read');
  };
  const client = { get: unused, list: unused };
  return { scheduler, job, reads: new JobReads({ client, cache: script.cache, now: () => script.clock.now() }) };
}

describe('a window of the Fabric over a node', () => {
  it.each<[string, number, 'free' | 'closed', 'ready' | 'leaving']>([
    ['that is far away', 120, 'free', 'ready'],
    ['that begins while the job would still run', 30, 'closed', 'ready'],
    ['that begins in ten minutes', 10, 'closed', 'leaving'],
    ['that is open', -30, 'closed', 'leaving'],
    ['that is over', -60, 'free', 'ready'],
  ])('%s (in %i minutes) makes it %s to a job and %s to gangs', (_sentence, inMinutes, place, state) => {
    const { scheduler, job, reads } = aCluster(inMinutes);
    const { usedGpus } = scheduler.capacityFor(job.metadata.uid);
    expect({
      used: Object.fromEntries(usedGpus),
      states: Object.fromEntries(reads.nodeStates(['node-a', 'node-b'], job.metadata.namespace)),
    }).toEqual({
      used: place === 'closed' ? { 'node-a': 2 } : {},
      states: { 'node-a': state, 'node-b': 'ready' },
    });
  });

  it('of a project does not concern its jobs', () => {
    const namespace = aCluster(0).job.metadata.namespace ?? '';
    const { scheduler, job, reads } = aCluster(-30, namespace);
    expect([...scheduler.capacityFor(job.metadata.uid).usedGpus]).toEqual([]);
    expect(reads.noticeOf('node-a', namespace)).toBeUndefined();
    expect(reads.noticeOf('node-a', 'others')?.rule).toBe('project-window');
  });

  it('asks for a save when it is near', () => {
    const { reads, job } = aCluster(50);
    expect(reads.comingNoticeOf('node-a', job.metadata.namespace)?.rule).toBe('maintenance-window');
  });
});
