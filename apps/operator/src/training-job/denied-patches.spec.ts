import { KubeApiError } from '@coxswain/kube';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { KubernetesTrainingJobStore } from './kubernetes-training-job-store.ts';

const DENIED = `pods "a" is forbidden: ValidatingAdmissionPolicy 'oc' with binding 'oc' denied request: no`;
const TEST_FAILED = 'the server rejected our request due to an error in our request';

describe('a patch that takes our mark from a pod', () => {
  const storeAnswering = (message: string, reads: string[]): KubernetesTrainingJobStore => {
    const client = {
      patch: () => Promise.reject(new KubeApiError({ status: 422, reason: 'Invalid', message })),
      get: (path: string) => {
        reads.push(path);
        return Promise.reject(new KubeApiError({ status: 404, reason: 'NotFound', message: 'pods "a" not found' }));
      },
    };
    const pods = { get: () => undefined, rememberGone: () => undefined, cached: { byIndex: () => [] }, view: () => [] };
    type Options = ConstructorParameters<typeof KubernetesTrainingJobStore>[0];
    return new KubernetesTrainingJobStore({
      client,
      cache: { pods },
      clock: { now: () => new Date() },
    } as unknown as Options);
  };

  it.each(['liftGate', 'releasePod'] as const)('fails with the words of a policy that denies it: %s', async (write) => {
    const reads: string[] = [];
    const patch = storeAnswering(DENIED, reads)[write](aTrainingJob(), { name: 'a', uid: 'u' });
    await expect(patch).rejects.toThrow('denied request: no');
    expect(reads).toEqual([]);
  });

  it('reads the pod again where one of its tests failed', async () => {
    const reads: string[] = [];
    await storeAnswering(TEST_FAILED, reads)
      .liftGate(aTrainingJob(), { name: 'a', uid: 'u' })
      .catch(() => undefined);
    expect(reads).toHaveLength(1);
  });
});
