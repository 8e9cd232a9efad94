/** A cluster that has nodes, a Fabric whose GPUs are counted, and one pod’s log in each namespace: the API reads them through the Kubernetes API. It does not serve jobs, as in an outage. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API_GROUP_VERSION, FABRIC_NAME } from '@coxswain/api-types';
import { stringify } from 'yaml';

const LINE_MS = 100;
const VERSION = '1';
const FABRICS = `/apis/${API_GROUP_VERSION}/fabrics`;
const FABRIC = {
  kind: 'Fabric',
  apiVersion: API_GROUP_VERSION,
  metadata: { name: FABRIC_NAME, uid: 'fabric', resourceVersion: VERSION },
  spec: {},
  status: { gpus: 16, freeGpus: 8, gpuTypes: [] },
};

/** What the cluster contains. */
export interface FakeClusterParts {
  readonly logOf: (namespace: string) => string;
  readonly nodes: readonly string[];
}

/** Kinds without a namespace, by their path. */
type Collections = ReadonlyMap<
  string,
  { readonly kind: string; readonly apiVersion: string; readonly items: object[] }
>;

/** Starts it and writes a kubeconfig for it. Returns a function that stops it. */
export async function startFakeCluster(kubeconfigPath: string, parts: FakeClusterParts): Promise<() => Promise<void>> {
  const collections = collectionsOf(parts.nodes);
  const server = createServer((request, answer) => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const [, namespace = '', rest = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/pods(.*)$/.exec(path) ?? [];
    const collection = collections.get(path);
    if (request.method === 'POST' && CHECKPOINTS.test(path)) {
      answer.statusCode = 201;
      void bodyOf(request).then((body) => sendJson(answer, asCreated(body)));
    } else if (path === '/version') {
      sendJson(answer, { major: '1', minor: '34', gitVersion: 'v1.34.0' });
    } else if (path === `${FABRICS}/${FABRIC_NAME}`) {
      sendJson(answer, FABRIC);
    } else if (collection !== undefined && query.includes('watch=true')) {
      answer.setHeader('content-type', 'application/json');
      answer.flushHeaders();
    } else if (collection !== undefined) {
      const { kind, apiVersion, items } = collection;
      sendJson(answer, { kind: `${kind}List`, apiVersion, metadata: { resourceVersion: VERSION }, items });
    } else if (namespace !== '' && rest === '') {
      const pod = { metadata: { name: 'pod', namespace, uid: 'pod', resourceVersion: VERSION } };
      sendJson(answer, { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: VERSION }, items: [pod] });
    } else if (rest === '/pod/log') {
      sendLog(answer, () => parts.logOf(namespace), query.includes('follow=true'));
    } else {
      answer.statusCode = 503;
      sendJson(answer, { kind: 'Status', status: 'Failure', reason: 'ServiceUnavailable', code: 503, message: 'away' });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  writeFileSync(kubeconfigPath, kubeconfigOf(port));
  return async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
}

function collectionsOf(nodes: readonly string[]): Collections {
  const items = nodes.map((name) => ({
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name, uid: `node-${name}`, resourceVersion: VERSION },
    status: { allocatable: { 'nvidia.com/gpu': '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
  }));
  return new Map([
    ['/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', items }],
    [FABRICS, { kind: 'Fabric', apiVersion: API_GROUP_VERSION, items: [FABRIC] }],
    ['/apis/resource.k8s.io/v1/resourceslices', { kind: 'ResourceSlice', apiVersion: 'resource.k8s.io/v1', items: [] }],
  ]);
}

/** Checkpoints that users adopt are made at once, unlike jobs. */
const CHECKPOINTS = new RegExp(`^/apis/${API_GROUP_VERSION}/namespaces/[^/]+/checkpoints$`);

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
}

function asCreated({ metadata, ...rest }: Record<string, unknown>): object {
  const made = { uid: randomUUID(), resourceVersion: VERSION, creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...rest, metadata: { ...(metadata as object), ...made } };
}

function sendJson(answer: ServerResponse, body: object): void {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify(body));
}

function sendLog(answer: ServerResponse, line: () => string, isFollowed: boolean): void {
  answer.write(line());
  if (!isFollowed) {
    answer.end();
    return;
  }
  const writing = setInterval(() => answer.write(line()), LINE_MS);
  answer.on('close', () => clearInterval(writing));
}

function kubeconfigOf(port: number): string {
  const named = (name: string, rest: object): object => ({ name, ...rest });
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'fake',
    clusters: [named('fake', { cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } })],
    users: [named('fake', { user: {} })],
    contexts: [named('fake', { context: { cluster: 'fake', user: 'fake' } })],
  });
}
