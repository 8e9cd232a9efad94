import { KubeApiError } from '@coxswain/kube';
import { AdmissionChecks } from './admission-checks.ts';

const OURS = 'training.coxswain.dev/placement';

const aCheck = (name: string, controllerName: string, status?: string): object => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: '7' },
  spec: { controllerName },
  ...(status === undefined
    ? {}
    : {
        status: {
          conditions: [
            { type: 'Active', status },
            { type: 'Other', status: 'True' },
          ],
        },
      }),
});

/** The checks over such objects, and what was patched. */
function checksOver(items: readonly object[]) {
  const patches: [path: string, body: unknown][] = [];
  const client = {
    list: async () => ({ items }) as never,
    patch: async (path: string, body: unknown) => {
      patches.push([path, body]);
      return undefined as never;
    },
  };
  return { checks: new AdmissionChecks({ client, clock: { now: () => new Date('2026-01-01T00:00:00Z') } }), patches };
}

describe('the AdmissionChecks of the operator', () => {
  it('are those that name it, and are marked Active once', async () => {
    const { checks, patches } = checksOver([
      aCheck('new', OURS),
      aCheck('off', OURS, 'False'),
      aCheck('on', OURS, 'True'),
      aCheck('other', 'example.com/budget'),
    ]);
    expect(await checks.keep()).toBe(true);
    expect([...checks.names]).toEqual(['new', 'off', 'on']);
    expect(patches.map(([path]) => path.split('/').at(-1))).toEqual(['new', 'off']);
    expect(patches[1]?.[1]).toMatchObject({
      metadata: { uid: 'uid-off', resourceVersion: '7' },
      status: { conditions: [{ type: 'Other' }, { type: 'Active', status: 'True' }] },
    });
  });

  it('are none where the cluster does not serve the kind', async () => {
    const missing = new KubeApiError({
      status: 404,
      message: 'the server could not find the requested resource',
    } as never);
    const client = { list: () => Promise.reject(missing), patch: () => Promise.reject(missing) };
    const checks = new AdmissionChecks({ client: client as never, clock: { now: () => new Date() } });
    expect([await checks.keep(), checks.names.size]).toEqual([false, 0]);
  });
});
