import { lookUpBinary, loseNodes, startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { type CodeBucket, NODE_MARKS } from '@coxswain/api-types';
import { type ObjectStore, SharedFixture, startObjectStore } from '@coxswain/test-harness';

const objectStores = new WeakMap<CoxswainSystem, ObjectStore>();

/** With a bucket for code, if the S3 server was set up: only some test files need it. */
async function startWithObjects(): Promise<CoxswainSystem> {
  if ((await lookUpBinary('gofakes3')) === undefined) return await startSystem();
  const objects = await startObjectStore();
  const system = await startSystem({ codeBucket: bucketIn(objects) });
  objectStores.set(system, objects);
  return system;
}

function bucketIn({ bucket, endpoint }: ObjectStore): CodeBucket {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  return { uri: `s3://${bucket}/code`, endpoint, region: undefined, credentials };
}

/** The bucket that API and operator of the shared system keep code in. */
export function codeBucketOf(system: CoxswainSystem): CodeBucket {
  const objects = objectStores.get(system);
  if (objects === undefined) throw new Error('the S3 server is not set up; run "npm run setup" once');
  return bucketIn(objects);
}

const fixture = new SharedFixture<CoxswainSystem>({
  name: 'system',
  start: startWithObjects,
  stop: async (system) => {
    await system.stop();
    await objectStores.get(system)?.stop();
  },
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
