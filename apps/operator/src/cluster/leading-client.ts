import type { KubeClient } from '@coxswain/kube';

/**
 * A client whose every write looks at the lease: before it waits for its turn, and again at the last moment before its bytes leave. A
 * replica that was asleep while another took over must not write.
 */
export function leadingClient(client: KubeClient, assertLeading: () => unknown): KubeClient {
  const guard = (): void => void assertLeading();
  const guarded = async <T>(write: () => Promise<T>): Promise<T> => {
    guard();
    return write();
  };
  return {
    ...client,
    create: (path, body, options) => guarded(() => client.create(path, body, { ...options, guard })),
    apply: (path, body, options) => guarded(() => client.apply(path, body, { ...options, guard })),
    patch: (path, body, options) => guarded(() => client.patch(path, body, { ...options, guard })),
    replace: (path, body, options) => guarded(() => client.replace(path, body, { ...options, guard })),
    delete: (path, options) => guarded(() => client.delete(path, { ...options, guard })),
  };
}
