import type { KubeClient } from '@coxswain/kube';

/** A client whose every write is preceded by a look at the lease: a replica that was asleep while another took over must not write. */
export function leadingClient(client: KubeClient, assertLeading: () => unknown): KubeClient {
  const guarded = async <T>(write: () => Promise<T>): Promise<T> => {
    assertLeading();
    return write();
  };
  return {
    ...client,
    create: (path, body, options) => guarded(() => client.create(path, body, options)),
    apply: (path, body, options) => guarded(() => client.apply(path, body, options)),
    patch: (path, body, options) => guarded(() => client.patch(path, body, options)),
    delete: (path, options) => guarded(() => client.delete(path, options)),
  };
}
