import { lanesOf } from './call-gate.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { fileCredentials } from './credentials.ts';
import { KubeApiError } from './errors.ts';
import { DEFAULT_TIMEOUT_MS, makeExchange } from './exchange.ts';
import type { ClientLimits, KubeClient, KubeClientOptions, KubeVersion, ListOptions } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';
import type { KubeTransport } from './transport.ts';
import { undiciTransport } from './transport.ts';

/** A client for the cluster of a kubeconfig, or of the pod in which this program runs. Reads nothing before the first call. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  const clock = options.clock ?? systemClock;
  const transport = undiciTransport(fileCredentials(options, clock), {
    // The gate keeps each lane to its share, so that no call waits for a connection.
    connections: Object.values(lanesOf(options)).reduce((sum, places) => sum + places, 0),
    connectTimeoutMs: Math.min(10_000, options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
  });
  return createKubeClientOver(transport, { ...options, clock });
}

/** A client over any transport. */
export function createKubeClientOver(
  transport: KubeTransport,
  options: ClientLimits & { readonly userAgent: string; readonly fieldManager?: string; readonly clock: Clock },
): KubeClient {
  const exchange = makeExchange(transport, options);
  const manager = (chosen: string | undefined): string | undefined => chosen ?? options.fieldManager;
  const dryRun = (wanted: boolean | undefined): string | undefined => (wanted === true ? 'All' : undefined);

  return {
    get: (path, call = {}) => exchange.json({ method: 'GET', path }, call),
    list: async <T extends KubeObject>(path: string, call: ListOptions = {}): Promise<KubeList<T>> => {
      const { labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch } = call;
      const query = {
        labelSelector,
        fieldSelector,
        limit,
        continue: call.continue,
        resourceVersion,
        resourceVersionMatch,
      };
      return withItemTypes(await exchange.json<KubeList<T>>({ method: 'GET', path, query, isList: true }, call));
    },
    create: (path, body, call = {}) => {
      const query = {
        dryRun: dryRun(call.dryRun),
        fieldValidation: call.fieldValidation,
        fieldManager: manager(undefined),
      };
      return exchange.json({ method: 'POST', path, query, body, contentType: 'application/json' }, call);
    },
    apply: (path, body, call = {}) => {
      const fieldManager = manager(call.fieldManager);
      if (fieldManager === undefined) {
        throw new Error(`apply to ${path} has no field manager: give one to the call or to the client`);
      }
      const query = {
        fieldManager,
        force: call.force === true ? true : undefined,
        dryRun: dryRun(call.dryRun),
        fieldValidation: call.fieldValidation,
      };
      const target = withSubresource(path, call.subresource);
      return exchange.json({ method: 'PATCH', path: target, query, body, contentType: APPLY_PATCH }, call);
    },
    patch: (path, body, call) => {
      const query = { fieldManager: manager(call.fieldManager), dryRun: dryRun(call.dryRun) };
      const target = withSubresource(path, call.subresource);
      return exchange.json({ method: 'PATCH', path: target, query, body, contentType: PATCH_TYPES[call.type] }, call);
    },
    replace: async (path, body, call = {}) => {
      const { uid, resourceVersion } = body.metadata;
      if (!uid || !resourceVersion) {
        throw new Error(
          `replace of ${path} needs metadata.uid and metadata.resourceVersion: it would undo what others wrote`,
        );
      }
      const query = {
        fieldManager: manager(call.fieldManager),
        dryRun: dryRun(call.dryRun),
        fieldValidation: call.fieldValidation,
      };
      const target = withSubresource(path, call.subresource);
      return exchange.json({ method: 'PUT', path: target, query, body, contentType: 'application/json' }, call);
    },
    delete: (path, call) => {
      const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy } = call;
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
        ...(call.dryRun === true ? { dryRun: ['All'] } : {}),
      };
      return exchange.json({ method: 'DELETE', path, body, contentType: 'application/json' }, call);
    },
    version: (call = {}) => exchange.json<KubeVersion>({ method: 'GET', path: '/version' }, call),
    requestStream: (path, call) => exchange.stream(path, call),
    close: () => transport.close(),
  };
}

const APPLY_PATCH = 'application/apply-patch+yaml';
const PATCH_TYPES = { json: 'application/json-patch+json', merge: 'application/merge-patch+json' } as const;

/** Adds kind and apiVersion to the items of a list, because the API server omits them for built-in types. */
function withItemTypes<T extends KubeObject>(list: KubeList<T>): KubeList<T> {
  if (typeof list?.kind !== 'string' || typeof list.metadata?.resourceVersion !== 'string') {
    throw new KubeApiError({
      status: 0,
      reason: 'MalformedAnswer',
      message: 'the response to a list request is not a Kubernetes list',
    });
  }
  if (!Array.isArray(list.items)) return { ...list, items: [] };
  const kind = list.kind.replace(/List$/, '');
  const items = list.items.map((item) =>
    typeof item !== 'object' || item === null || item.kind !== undefined
      ? item
      : ({ apiVersion: list.apiVersion, kind, ...(item as object) } as T),
  );
  return { ...list, items };
}

function withSubresource(path: string, subresource: string | undefined): string {
  return subresource === undefined ? path : `${path}/${encodeURIComponent(subresource)}`;
}
