import { loseNodes, startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { NODE_MARKS } from '@coxswain/api-types';
import { SharedFixture } from '@coxswain/test-harness';

const fixture = new SharedFixture<CoxswainSystem>({
  name: 'system',
  start: () => startSystem(),
  stop: (system) => system.stop(),
});

/** The system that test files share which change nothing about it as a whole. Each file makes projects with names of its own. */
export function sharedSystem(): Promise<CoxswainSystem> {
  return fixture.take();
}

/** Ends what a file left in the shared system: its jobs, and what it did to nodes. */
export async function releaseSharedSystem(): Promise<void> {
  const system = await fixture.take();
  try {
    loseNodes(system, []);
    const { plane } = system;
    await plane.kubectl(['annotate', 'nodes', '--all', `${NODE_MARKS.maintenance}-`]);
    await plane.kubectl(['delete', 'trainingjobs', '--all', '--all-namespaces', '--wait=false']);
    const kinds = 'trainingjobs,pods';
    const isEmpty = async (): Promise<boolean> =>
      (await plane.kubectl(['get', kinds, '--all-namespaces', '-o', 'name'])) === '';
    await waitFor(isEmpty, { intervalMs: 250, what: 'the jobs of a test file to be gone' });
  } finally {
    await fixture.release();
  }
}
