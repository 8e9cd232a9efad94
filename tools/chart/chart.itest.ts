import type { PolicyRule } from '@coxswain/kube';
import { startControlPlane, SYSTEM_NAMESPACE, waitFor, type ControlPlane } from '@coxswain/local-cluster';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CLUSTER_RULES as API_RULES } from '../../apps/api/src/permissions.ts';
import { CHART, helm, LOCAL_ROLES, renderChart, renderRoles } from './render.ts';
import {
  CLUSTER_RULES as OPERATOR_RULES,
  LET_GO_NAMESPACE_RULES,
  LET_GO_RULES,
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
      spec: { groups: [{ rules: [{}, {}, {}, {}, {}, {}] }] },
    });
  });

  it('gives the operator exactly the rights that its code declares', () => {
    expect(rights(rulesOf('ClusterRole', 'coxswain-operator'))).toEqual(rights(OPERATOR_RULES));
    expect(rights(rulesOf('Role', 'coxswain-operator'))).toEqual(
      rights(OPERATOR_NAMESPACE_RULES({ leaseName: 'coxswain-operator' })),
    );
  });

  it('gives its hook after an uninstall exactly the rights that its code declares', () => {
    expect(rights(rulesOf('ClusterRole', 'coxswain-let-go'))).toEqual(rights(LET_GO_RULES));
    expect(rights(rulesOf('Role', 'coxswain-let-go'))).toEqual(
      rights(LET_GO_NAMESPACE_RULES({ leaseName: 'coxswain-operator' })),
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

  describe('with the admission policy', () => {
    const namespace = 'tenants';
    const asTenant = ['--as', 'tenant-admin', '-n', namespace];
    const asOperator = ['--as', `system:serviceaccount:${SYSTEM_NAMESPACE}:coxswain-operator`, '-n', namespace];
    const asCollector = ['--as', 'system:serviceaccount:kube-system:generic-garbage-collector', '-n', namespace];
    const asMigration = ['--as', 'storage-migration', '-n', namespace];
    const create = (who: readonly string[], object: unknown): Promise<string> =>
      plane.kubectl([...who, 'create', '-f', '-'], { input: JSON.stringify(object) });
    const patch = (who: readonly string[], what: readonly string[], change: unknown): Promise<string> =>
      plane.kubectl([...who, 'patch', ...what, '--type=merge', '-p', JSON.stringify(change)]);
    const status = (state: string): unknown => ({ status: { state } });

    beforeAll(async () => {
      const every = ['get', 'list', 'create', 'update', 'patch', 'delete'];
      const rules = [{ apiGroups: ['training.coxswain.dev'], resources: EVERY_RESOURCE, verbs: every }];
      const rbac = 'rbac.authorization.k8s.io';
      const subjects = ['tenant-admin', 'storage-migration'].map((name) => ({ kind: 'User', apiGroup: rbac, name }));
      const roleRef = { apiGroup: rbac, kind: 'Role', name: 'admin' };
      const metadata = { name: 'admin', namespace };
      await plane.kubectl(['create', 'namespace', namespace]);
      await plane.kubectl(['apply', '-f', LOCAL_ROLES]);
      await create([], { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules });
      await create([], { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects });
      await create(asOperator, aPlacement('made-by-the-operator'));
      await create(asTenant, aJob('mine'));
      // A policy holds a moment after it was made.
      await waitFor(async () => create(asTenant, aPlacement('probe')).then(...refusedOr(/manage/)), {
        what: 'the policy to be in force',
      });
    });

    it('a namespace admin who may create placements by RBAC is refused, and told what to do', async () => {
      await expect(create(asTenant, aPlacement('forged'))).rejects.toThrow(
        /only the Coxswain operator writes placements\. To train, create a TrainingJob; to let tenant-admin write this, grant it the verb "manage" on placements of training\.coxswain\.dev in namespace tenants/,
      );
    });

    it.each<[string, () => Promise<string>]>([
      ['create a checkpoint', () => create(asTenant, aCheckpoint('forged'))],
      ['change the finalizers of a placement', () => patch(asTenant, ['tplace', 'made-by-the-operator'], HELD)],
      [
        'write the status of a job',
        () => patch(asTenant, ['tjob', 'mine', '--subresource=status'], status('Complete')),
      ],
    ])('nor may he %s', async (_what, write) => {
      await expect(write()).rejects.toThrow(/only the Coxswain operator writes/);
    });

    it('he may write jobs and delete what is his', async () => {
      await patch(asTenant, ['tjob', 'mine'], { spec: { suspend: true } });
      await create(asOperator, aPlacement('to-be-deleted'));
      expect(await plane.kubectl([...asTenant, 'delete', 'tplace', 'to-be-deleted'])).toContain('deleted');
    });

    it('the operator writes what it writes', async () => {
      await create(asOperator, aCheckpoint('saved'));
      await plane.kubectl([...asOperator, 'get', 'tckpt', 'saved', '-o', 'json']).then(async (text) => {
        const object = { ...(JSON.parse(text) as object), ...(status('Complete') as object) };
        await plane.kubectl([...asOperator, 'replace', '--subresource=status', '-f', '-'], {
          input: JSON.stringify(object),
        });
      });
    });

    it('the garbage collector removes finalizers, and a migration of storage writes objects as they are', async () => {
      await patch(['-n', namespace], ['tplace', 'made-by-the-operator'], HELD);
      await patch(asCollector, ['tplace', 'made-by-the-operator'], { metadata: { finalizers: null } });
      const text = await plane.kubectl(['-n', namespace, 'get', 'tplace', 'made-by-the-operator', '-o', 'json']);
      expect(JSON.parse(text)).not.toHaveProperty('metadata.finalizers');
      expect(await plane.kubectl([...asMigration, 'replace', '-f', '-'], { input: text })).toContain('replaced');
    });
  });
});

const EVERY_RESOURCE = ['trainingjobs', 'trainingjobs/status', 'placements', 'checkpoints', 'checkpoints/status'];
const HELD = { metadata: { finalizers: ['foregroundDeletion'] } };
const ABOUT = { jobName: 'mine', jobUid: 'uid', epoch: 1, layout: {} };

function aPlacement(name: string): unknown {
  const spec = { ...ABOUT, worldSize: 1, ranksPerPod: 1, nodes: ['node'] };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'Placement', metadata: { name }, spec };
}

function aCheckpoint(name: string): unknown {
  const saved = { format: 'torch_dcp', bytes: 1, files: 1, manifestSha256: 'a'.repeat(64) };
  const spec = { ...ABOUT, step: 1, claimName: 'checkpoints', path: 'mine/1', ...saved };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'Checkpoint', metadata: { name }, spec };
}

function aJob(name: string): unknown {
  const spec = { engine: { name: 'command', image: 'any', command: ['x'] }, layout: {} };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'TrainingJob', metadata: { name }, spec };
}

/** For `then`: whether it was refused in such words. */
function refusedOr(words: RegExp): [() => boolean, (error: unknown) => boolean] {
  return [() => false, (error) => words.test(String(error))];
}
