import { API_GROUP, API_GROUP_VERSION } from '@coxswain/api-types';
import { SYSTEM_NAMESPACE, waitFor, type ControlPlane } from '@coxswain/local-cluster';
import { SharedFixture } from '@coxswain/test-harness';
import { startPlane, worldOn, type World } from './world.ts';

const fixture = new SharedFixture<ControlPlane>({
  name: 'world',
  start: () => startPlane({}),
  stop: (plane) => plane.stop(),
});

/** A world of the usual kind on the control plane that test files share; its `stop` empties the cluster for the next file. */
export async function sharedWorld(): Promise<World> {
  const plane = await fixture.take();
  const end = async (): Promise<void> => {
    try {
      await emptyCluster(plane);
    } finally {
      await fixture.release();
    }
  };
  return worldOn(plane, { end });
}

/** What tests make outside of namespaces, and the leases that killed operators left. Each file makes namespaces of its own. */
async function emptyCluster(plane: ControlPlane): Promise<void> {
  const remove = async (path: string): Promise<void> => {
    const items = await listed(plane, path);
    await Promise.all(
      items.map(async ({ metadata }) => {
        const of =
          metadata.namespace === undefined ? path : path.replace(/\/(?=[^/]+$)/, `/namespaces/${metadata.namespace}/`);
        const item = `${of}/${metadata.name}`;
        if (metadata.finalizers !== undefined) {
          const body = { metadata: { finalizers: null } };
          await plane.admin.send({ method: 'PATCH', path: item, body, contentType: 'application/merge-patch+json' });
        }
        await plane.admin.send({ method: 'DELETE', path: item, body: { gracePeriodSeconds: 0 } });
      }),
    );
  };
  const ours = `/apis/${API_GROUP_VERSION}`;
  for (const kind of ['trainingjobs', 'placements', 'fabrics', 'clustertrainingruntimes', 'trainingruntimes'])
    await remove(`${ours}/${kind}`);
  await remove('/api/v1/pods');
  await remove('/api/v1/nodes');
  await remove('/api/v1/persistentvolumes');
  await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'delete', 'leases', '--all']);
  await removeForeignDefinitions(plane);
}

/** All objects at a path. A server that is setting up a kind anew, as it does after a definition was deleted, answers 429 for a moment. */
function listed(plane: ControlPlane, path: string): Promise<readonly KubeItem[]> {
  const list = async (): Promise<readonly KubeItem[]> =>
    (await plane.admin.json<{ items: readonly KubeItem[] }>({ method: 'GET', path })).items;
  return waitFor(list, { intervalMs: 250, what: `the list of ${path}` });
}

/** Custom resource definitions of other groups: a test file that defines one again must not meet the old one on its way out. */
async function removeForeignDefinitions(plane: ControlPlane): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const { items } = await plane.admin.json<{ items: CustomDefinition[] }>({ method: 'GET', path });
  const foreign = items.filter(({ spec }) => spec.group !== API_GROUP).map(({ metadata }) => metadata.name);
  if (foreign.length > 0) await plane.kubectl(['delete', 'crd', '--wait', '--ignore-not-found', ...foreign]);
}

interface KubeItem {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly finalizers?: readonly string[] };
}

interface CustomDefinition extends KubeItem {
  readonly spec: { readonly group: string };
}
