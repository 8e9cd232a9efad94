import type { PolicyRule } from '@coxswain/kube';
import { startControlPlane, SYSTEM_NAMESPACE, type ControlPlane } from '@coxswain/local-cluster';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CLUSTER_RULES as API_RULES } from '../../apps/api/src/permissions.ts';
import { CHART, helm, LOCAL_ROLES, renderChart, renderRoles } from './render.ts';
import {
  CLUSTER_RULES as OPERATOR_RULES,
  NAMESPACE_RULES as OPERATOR_NAMESPACE_RULES,
} from '../../apps/operator/src/permissions.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly PolicyRule[];
}

interface Rule {
  readonly kind: string;
}

let manifests: readonly Manifest[];
let rendered: string;

beforeAll(async () => {
  rendered = await renderChart();
  manifests = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest);
});

/** One line per verb on a resource, so that two ways to write the same rights compare equal. */
function rights(rules: readonly PolicyRule[]): readonly string[] {
  return rules
    .flatMap(({ apiGroups, resources, verbs, resourceNames = [] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => `${verb} ${group}/${resource} ${resourceNames.join(',')}`.trim()),
        ),
      ),
    )
    .sort();
}

function rulesOf(kind: string, name: string): readonly PolicyRule[] {
  return manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)?.rules ?? [];
}

describe('the chart', () => {
  it('passes a strict lint', async () => {
    expect(await helm('lint', '--strict', CHART)).toContain('0 chart(s) failed');
  });

  it('renders the same text twice', async () => {
    expect(await renderChart()).toBe(rendered);
  });

  it('gives the local cluster the roles that it installs; after a change: node tools/bootstrap.mjs tools/chart/roles.ts', async () => {
    expect(readFileSync(LOCAL_ROLES, 'utf8')).toBe(await renderRoles());
  });

  it.each([
    ['an unknown value', 'operator.replica=2', 'replica'],
    ['an image tag that moves', 'api.image.tag=latest', 'tag'],
    ['no replica', 'operator.replicas=0', 'replicas'],
    ['a cluster name that is no label', 'api.clusterName=My_Cluster', 'clusterName'],
  ])('refuses %s and names it', async (_sentence, value, named) => {
    await expect(renderChart({ values: [value] })).rejects.toThrow(named);
  });

  it('has alerts only where they are asked for, under the labels by which a Prometheus finds them', async () => {
    expect(rendered).not.toContain('PrometheusRule');
    const values = ['prometheusRule.enabled=true', 'prometheusRule.labels.release=mine'];
    const rule = parseAllDocuments(await renderChart({ values })).map((document) => document.toJS() as Rule | null);
    expect(rule.find((one) => one?.kind === 'PrometheusRule')).toMatchObject({
      metadata: { labels: { release: 'mine' } },
      spec: { groups: [{ rules: [{}, {}, {}, {}, {}] }] },
    });
  });

  it('gives the operator exactly the rights that its code declares', () => {
    expect(rights(rulesOf('ClusterRole', 'coxswain-operator'))).toEqual(rights(OPERATOR_RULES));
    expect(rights(rulesOf('Role', 'coxswain-operator'))).toEqual(
      rights(OPERATOR_NAMESPACE_RULES({ leaseName: 'coxswain-operator' })),
    );
  });

  it('gives the API exactly the rights that its code declares', () => {
    expect(rights(rulesOf('ClusterRole', 'coxswain-api'))).toEqual(rights(API_RULES));
  });

  it.each(['*', 'escalate', 'bind', 'impersonate'])('grants no %s', (word) => {
    const all = manifests.flatMap((manifest) => manifest.rules ?? []);
    expect(all.filter((rule) => [...rule.verbs, ...rule.resources, ...rule.apiGroups].includes(word))).toEqual([]);
  });
});

describe('the real API server', () => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: false, controllerManager: false });
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: SYSTEM_NAMESPACE,
        labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
      },
    };
    await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(namespace) });
  });

  afterAll(() => plane.stop());

  it('accepts the resource definitions, with the cost of their rules', async () => {
    expect(await plane.kubectl(['apply', '--server-side', '-f', join(CHART, 'crds')])).toContain(
      'trainingjobs.training.coxswain.dev serverside-applied',
    );
  });

  it('accepts every object by server-side dry run', async () => {
    const answer = await plane.kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], {
      input: rendered,
    });
    expect(answer.trim().split('\n')).toHaveLength(manifests.length);
  });

  it('accepts the pods of both programs in a namespace with restricted pod security', async () => {
    for (const name of ['coxswain-operator', 'coxswain-api']) {
      const deployment = manifests.find(
        (manifest) => manifest.kind === 'Deployment' && manifest.metadata.name === name,
      ) as unknown as { spec: { template: { spec: object } } };
      await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'create', 'serviceaccount', name]);
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: SYSTEM_NAMESPACE },
        spec: deployment.spec.template.spec,
      };
      expect(await plane.kubectl(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(pod) })).toContain(
        'created',
      );
    }
  });
});
