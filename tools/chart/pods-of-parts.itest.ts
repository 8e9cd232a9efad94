/** Where the pods of the chart's parts run, and how API and page are reached. */
import { parseAllDocuments } from 'yaml';
import { renderChart } from './render.ts';

interface PodTemplate {
  readonly metadata: Readonly<Record<'labels' | 'annotations', Readonly<Record<string, string>> | undefined>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
  };
}

async function manifestsWith(...values: readonly string[]): Promise<readonly Manifest[]> {
  const text = await renderChart({ values });
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

const podsOf = (manifests: readonly Manifest[]): ReadonlyMap<string, PodTemplate> =>
  new Map(
    manifests.flatMap(({ metadata, spec }) => {
      const name = metadata.name.replace(/-[0-9a-f]{8}$/, '');
      const template = spec?.template ?? spec?.jobTemplate?.spec.template;
      return template === undefined ? [] : [[name, template] as const];
    }),
  );

/** Every part whose pods the chart makes. */
const PARTS = [
  'coxswain-api',
  'coxswain-backup',
  'coxswain-definitions',
  'coxswain-let-go',
  'coxswain-operator',
  'coxswain-postgresql',
  'coxswain-pre-pull',
  'coxswain-prepare-database',
  'coxswain-restore',
  'coxswain-running-jobs',
  'coxswain-test',
];
const PRE_PULL = 'prePull.images={example.com/train:1}';

describe('pods of the chart', () => {
  it('all run where `pods` says, but those that pull images on nodes that train', async () => {
    const pods = podsOf(
      await manifestsWith(
        PRE_PULL,
        'database.embedded.backup.enabled=true',
        'pods.nodeSelector.pool=system',
        'pods.tolerations[0].key=system',
        'pods.tolerations[0].operator=Exists',
        'pods.priorityClassName=important',
        'pods.labels.team=platform',
        'pods.annotations.note=ours',
        'pods.affinity.nodeAffinity.marker=x',
      ),
    );
    expect([...pods.keys()].sort()).toEqual(PARTS);
    for (const [name, { metadata, spec }] of pods) {
      expect([name, metadata.labels?.['team'], metadata.annotations?.['note']]).toEqual([name, 'platform', 'ours']);
      if (name === 'coxswain-pre-pull') expect(spec).not.toHaveProperty('priorityClassName');
      else
        expect(spec).toMatchObject({
          nodeSelector: { pool: 'system' },
          tolerations: [{ key: 'system', operator: 'Exists' }],
          priorityClassName: 'important',
          affinity: { nodeAffinity: { marker: 'x' } },
        });
    }
  });

  it.each<[string, string, string, string]>([
    ['operator', 'operator.pods', 'coxswain-operator', 'coxswain-api'],
    ['API', 'api.pods', 'coxswain-api', 'coxswain-operator'],
    ['database', 'database.embedded.pods', 'coxswain-postgresql', 'coxswain-api'],
    ['Jobs', 'jobs.pods', 'coxswain-prepare-database', 'coxswain-api'],
  ])('of the %s take their own before those of all, and both labels', async (_part, path, ours, others) => {
    const own = [`${path}.nodeSelector.pool=own`, `${path}.labels.own=yes`];
    const pods = podsOf(await manifestsWith('pods.nodeSelector.pool=all', 'pods.labels.team=platform', ...own));
    expect(pods.get(ours)).toMatchObject({
      metadata: { labels: { team: 'platform', own: 'yes' } },
      spec: { nodeSelector: { pool: 'own' } },
    });
    expect(pods.get(others)?.spec).toMatchObject({ nodeSelector: { pool: 'all' } });
  });

  it('of operator and API prefer different nodes until another affinity is said', async () => {
    const preferred = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{}] } };
    const pods = podsOf(await manifestsWith('api.pods.affinity.nodeAffinity.marker=x'));
    expect(pods.get('coxswain-operator')?.spec).toMatchObject({ affinity: preferred });
    expect(pods.get('coxswain-api')?.spec['affinity']).toEqual({ nodeAffinity: { marker: 'x' } });
  });

  it('that read saves run where the settings of the operator say', async () => {
    const operator = podsOf(await manifestsWith('operator.workerPods.nodeSelector.pool=system')).get(
      'coxswain-operator',
    );
    expect(JSON.stringify(operator?.spec)).toContain(
      JSON.stringify({ name: 'COXSWAIN_WORKER_PODS', value: '{"nodeSelector":{"pool":"system"}}' }),
    );
  });

  it.each<[string, string, string]>([
    ['a label that is the chart’s own', 'pods.labels.app\\.kubernetes\\.io/name=mine', 'labels'],
    ['a part of affinity that does not exist', 'api.pods.affinity.nodes=x', 'affinity'],
    ['a toleration with a field that does not exist', 'pods.tolerations[0].keys=x', 'tolerations'],
  ])('refuse %s', async (_sentence, value, named) => {
    await expect(renderChart({ values: [value] })).rejects.toThrow(named);
  });

  it('of CloudNativePG go where the values say, in the fields of its operator', async () => {
    const manifests = await manifestsWith(
      'database.source=cloudNativePG',
      'pods.nodeSelector.pool=system',
      'pods.labels.team=platform',
      'database.cloudNativePG.resources.limits.memory=4Gi',
    );
    expect(manifests.find(({ kind }) => kind === 'Cluster')?.spec).toMatchObject({
      affinity: { nodeSelector: { pool: 'system' } },
      inheritedMetadata: { labels: { team: 'platform' } },
      resources: { limits: { memory: '4Gi' } },
    });
  });
});

describe('API and page are reached', () => {
  const reached = async (...values: readonly string[]): Promise<readonly Manifest[]> =>
    (await manifestsWith(...values)).filter(({ kind }) => kind === 'Ingress' || kind === 'HTTPRoute');

  it('by nothing of the chart until it is asked for', async () => {
    expect(await reached()).toEqual([]);
  });

  it('by an Ingress with TLS', async () => {
    const host = 'coxswain.example.com';
    const [ingress] = await reached('ingress.enabled=true', `ingress.host=${host}`, 'ingress.tlsSecretName=tls');
    const service = { name: 'coxswain-api', port: { name: 'http' } };
    expect(ingress?.spec).toEqual({
      tls: [{ hosts: [host], secretName: 'tls' }],
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] } }],
    });
  });

  it('by a route of a Gateway that lets streams last', async () => {
    const parent = ['gateway.parentRefs[0].name=public', 'gateway.parentRefs[0].namespace=gateways'];
    const [route] = await reached('gateway.enabled=true', ...parent, 'gateway.hostnames={a.example.com}');
    expect(route).toMatchObject({
      kind: 'HTTPRoute',
      spec: {
        parentRefs: [{ name: 'public', namespace: 'gateways' }],
        hostnames: ['a.example.com'],
        rules: [{ timeouts: { request: '0s' }, backendRefs: [{ name: 'coxswain-api', port: 80 }] }],
      },
    });
  });

  it.each<[string, string, RegExp]>([
    ['an Ingress without a host', 'ingress.enabled=true', /ingress.host is needed/],
    ['a route without a Gateway', 'gateway.enabled=true', /gateway.parentRefs is needed/],
  ])('not by %s, and the value that is missing is named', async (_sentence, value, message) => {
    await expect(renderChart({ values: [value] })).rejects.toThrow(message);
  });
});
