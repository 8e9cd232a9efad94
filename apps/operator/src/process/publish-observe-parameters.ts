import { OBSERVE_CONFIG_MAP } from '@coxswain/api-types';
import { type KubeClient, resourcePath } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';
import type { Config } from '../config/config.ts';

/**
 * Writes what the admission policy gives to observed pods: where they report, and which authority they trust there. Without it pods of other controllers
 * start unobserved, and nothing else is different. So it never rejects.
 */
export async function publishObserveParameters(
  parts: {
    readonly client: Pick<KubeClient, 'apply'>;
    readonly config: Pick<Config, 'namespace' | 'observedNamespaces'>;
    readonly log: Pick<Logger, 'warn'>;
  },
  { reportUrls, reportCaPem }: { readonly reportUrls: readonly string[]; readonly reportCaPem: string },
): Promise<void> {
  const { namespace, observedNamespaces } = parts.config;
  if (observedNamespaces.length === 0) return;
  const name = OBSERVE_CONFIG_MAP;
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data: { reportUrls: reportUrls.join(','), reportCa: reportCaPem },
  };
  const path = resourcePath({ group: '', version: 'v1', plural: 'configmaps', namespace, name });
  try {
    await parts.client.apply(path, body, { force: true });
  } catch (error) {
    parts.log.warn({ err: error }, 'new pods of other controllers cannot be observed; the operator retries in an hour');
  }
}
