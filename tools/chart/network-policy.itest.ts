import { SYSTEM_NAMESPACE } from '@coxswain/local-cluster';
import { parseAllDocuments } from 'yaml';
import { CHART, helm } from './render.ts';

interface Rule {
  readonly ports?: readonly { readonly port: string | number; readonly protocol?: string }[];
  readonly from?: readonly unknown[];
  readonly to?: readonly unknown[];
}

interface Policy {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly ingress: readonly Rule[]; readonly egress: readonly Rule[] };
}

const MONITORING = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
const INGRESS = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } };

async function policies(...sets: readonly string[]): Promise<ReadonlyMap<string, Policy['spec']>> {
  const values = sets.flatMap((set) => ['--set-json', set]);
  const text = await helm('template', 'coxswain', CHART, '--namespace', SYSTEM_NAMESPACE, ...values);
  const all = parseAllDocuments(text).map((document) => document.toJS() as Policy | null);
  return new Map(all.flatMap((one) => (one?.kind === 'NetworkPolicy' ? [[one.metadata.name, one.spec] as const] : [])));
}

/** `port < peers` of each rule, `port < all` where it has none. */
function admitted(rules: readonly Rule[] = []): readonly string[] {
  return rules.flatMap(({ ports = [], from, to }) => {
    const peers = from ?? to;
    return ports.map(({ port }) => `${port} < ${peers === undefined ? 'all' : JSON.stringify(peers)}`);
  });
}

const ports = (rules: readonly Rule[] = []): readonly string[] =>
  rules.flatMap((rule) => (rule.ports ?? []).map(({ port }) => String(port)));

describe('the network policies of the chart', () => {
  it.each([
    ['https://siem.example.com:8443/a:9', '8443'],
    ['syslog+tls://siem', '6514'],
    ['syslog+tls://siem:601', '601'],
  ])('let the API reach the receiver of the audit at %s, on port %s', async (url, port) => {
    const api = (await policies(`api.auditPush=${JSON.stringify({ url, secretName: 'siem' })}`)).get('coxswain-api');
    expect(ports(api?.egress)).toContain(port);
  });

  it('admit launchers of every namespace to the report port, and metrics to the monitoring alone', async () => {
    const operator = (await policies()).get('coxswain-operator');
    expect(admitted(operator?.ingress)).toEqual([
      'reports < all',
      'health < all',
      'liveness < all',
      `metrics < ${JSON.stringify([MONITORING])}`,
    ]);
  });

  it('admit nobody to the metrics of the operator if nobody is named, and everybody to its probes', async () => {
    const operator = (await policies('networkPolicy.metricsFrom=[]')).get('coxswain-operator');
    expect(admitted(operator?.ingress)).toEqual(['reports < all', 'health < all', 'liveness < all']);
  });

  it('admit everybody to the API, or those that are named and the monitoring', async () => {
    expect(admitted((await policies()).get('coxswain-api')?.ingress)).toEqual(['liveness < all', 'http < all']);
    const named = await policies(`networkPolicy.apiFrom=${JSON.stringify([INGRESS])}`);
    expect(admitted(named.get('coxswain-api')?.ingress)).toEqual([
      'liveness < all',
      `http < ${JSON.stringify([INGRESS, MONITORING])}`,
    ]);
  });

  it('let the operator reach the Kubernetes API and DNS, and nothing else', async () => {
    const { egress = [] } = (await policies()).get('coxswain-operator') ?? {};
    expect(ports(egress)).toEqual(['443', '6443', '53', '53']);
  });

  it('let the API reach the Kubernetes API, webhooks, the database, the operator and DNS', async () => {
    const api = (await policies()).get('coxswain-api');
    expect(ports(api?.egress)).toEqual(['443', '6443', '443', '5432', '9443', '53', '53']);
    expect(ports((await policies('api.webhooks.allowHttp=true')).get('coxswain-api')?.egress)).toContain('80');
  });

  it('let both reach the Kubernetes API on other ports, in whose endpoints a network may see it', async () => {
    const other = await policies('networkPolicy.kubernetesApiPorts=[443,8443]');
    for (const name of ['coxswain-operator', 'coxswain-api'])
      expect(ports(other.get(name)?.egress).slice(0, 2)).toEqual(['443', '8443']);
  });

  it('admit the API and its preparation to the database, which reaches nothing', async () => {
    const database = (await policies()).get('coxswain-postgresql');
    expect([ports(database?.ingress), database?.ingress[0]?.from?.length, database?.egress]).toEqual([
      ['postgresql'],
      2,
      [],
    ]);
  });

  it('are left out if the administrator wants none', async () => {
    expect([...(await policies('networkPolicy.enabled=false')).keys()]).toEqual([]);
  });
});
