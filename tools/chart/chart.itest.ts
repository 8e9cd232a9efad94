/** What the chart installs, on a real control plane. More than 400 lines: its cases share one installation. */
import {
  ANNOTATIONS,
  API_GROUP,
  API_GROUP_VERSION,
  LABELS,
  POD_FINALIZER,
  SCHEDULING_GATE,
  SERVED_API_VERSIONS,
} from '@coxswain/api-types';
import type { PolicyRule } from '@coxswain/kube';
import { startControlPlane, SYSTEM_NAMESPACE, waitFor, type ControlPlane } from '@coxswain/local-cluster';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  CLUSTER_RULES as API_RULES,
  PREPARE_DATABASE_RULES,
  SERVICE_ACCOUNT_RULES,
} from '../../apps/api/src/permissions.ts';
import { CHART, helm, LOCAL_ROLES, renderChart, renderRoles } from './render.ts';
import {
  CLUSTER_RULES as OPERATOR_RULES,
  DEFINITIONS_NAMESPACE_RULES,
  DEFINITIONS_RULES,
  DRAIN_RULES,
  KUEUE_MANAGER_RULES,
  KUEUE_RULES,
  LET_GO_NAMESPACE_RULES,
  LET_GO_LABEL_RULES,
  LET_GO_RULES,
  NAMESPACE_RULES as OPERATOR_NAMESPACE_RULES,
  RUNNING_JOBS_NAMESPACE_RULES,
  RUNNING_JOBS_RULES,
} from '../../apps/operator/src/permissions.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly PolicyRule[];
}

interface Rule {
  readonly kind: string;
}

const AS_OWNER = { apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', name: 'mine', uid: 'any', controller: true };
const OURS = {
  labels: { [LABELS.jobUid]: 'any', [LABELS.epoch]: '1' },
  finalizers: [POD_FINALIZER],
  ownerReferences: [AS_OWNER],
};
/** What is looked through for our mark is walked by the API server, slowly: 20,000 owners took it half a minute. */
const OTHERS = Array.from({ length: 65 }, (_, i) => ({ apiVersion: 'v1', kind: 'Pod', name: 'any', uid: `${i}` }));
const GATED = { schedulingGates: [{ name: SCHEDULING_GATE }] };

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
    expect(await helm('lint', '--strict', CHART, '--namespace', SYSTEM_NAMESPACE)).toContain('0 chart(s) failed');
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

  it('takes its own images from the registry that it is told, and that of PostgreSQL from where its repository says', async () => {
    const text = await renderChart({ values: ['image.registry=registry.example.com:5000/team'] });
    const repositories = [...text.matchAll(/^ +image: "(.*):[^:"]+"$/gm)].map(([, repository = '']) => repository);
    expect([...new Set(repositories)].sort()).toEqual([
      'docker.io/library/postgres',
      'registry.example.com:5000/team/coxswain/api',
      'registry.example.com:5000/team/coxswain/operator',
    ]);
    expect(text).toContain('value: "registry.example.com:5000/team/coxswain/launcher:');
    const mirror = ['image.registry=registry.example.com', 'database.embedded.image.repository=mirror:5000/postgres'];
    expect(await renderChart({ values: mirror })).toMatch(/image: "mirror:5000\/postgres:/);
  });

  it('has alerts only where they are asked for, under the labels by which a Prometheus finds them', async () => {
    expect(rendered).not.toContain('PrometheusRule');
    const values = ['prometheusRule.enabled=true', 'prometheusRule.labels.release=mine'];
    const rule = parseAllDocuments(await renderChart({ values })).map((document) => document.toJS() as Rule | null);
    expect(rule.find((one) => one?.kind === 'PrometheusRule')).toMatchObject({
      metadata: { labels: { release: 'mine' } },
      spec: { groups: [8, 10].map((alerts) => ({ rules: Array.from({ length: alerts }, () => ({})) })) },
    });
  });

  it('gives the operator exactly the rights that its code declares', () => {
    expect(rights(rulesOf('ClusterRole', 'coxswain-operator'))).toEqual(rights(OPERATOR_RULES));
    expect(rights(rulesOf('Role', 'coxswain-operator'))).toEqual(
      rights(OPERATOR_NAMESPACE_RULES({ leaseName: 'coxswain-operator' })),
    );
  });

  it.each<[string, string, readonly PolicyRule[], readonly PolicyRule[]]>([
    ['hook after an uninstall', 'let-go', LET_GO_RULES, LET_GO_NAMESPACE_RULES({ leaseName: 'coxswain-operator' })],
    ['hook before an uninstall', 'running-jobs', RUNNING_JOBS_RULES, RUNNING_JOBS_NAMESPACE_RULES],
    ['hook that installs definitions', 'definitions', DEFINITIONS_RULES, DEFINITIONS_NAMESPACE_RULES],
    ['Job that prepares a database', 'prepare-database', [], PREPARE_DATABASE_RULES],
  ])('gives its %s exactly the rights that its code declares', (_what, name, cluster, namespace) => {
    expect(rights(rulesOf('ClusterRole', `coxswain-${name}`))).toEqual(rights(cluster));
    expect(rights(rulesOf('Role', `coxswain-${name}`))).toEqual(rights(namespace));
  });

  it('lets Nodes be patched only where they are kept in quarantine or labelled, and after an uninstall where they were labelled', async () => {
    const rolesWith = async (...values: readonly string[]): Promise<(name: string) => ReturnType<typeof rights>> => {
      const found = parseAllDocuments(await renderChart({ values })).map((document) => document.toJS() as Manifest);
      return (name) =>
        rights(found.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === name)?.rules ?? []);
    };
    const [off, labelled] = [
      await rolesWith('operator.quarantine=Off'),
      await rolesWith('operator.quarantine=Off', 'operator.publishFabricLabels=true'),
    ];
    const withoutPatch = OPERATOR_RULES.map((rule) =>
      rule.resources.includes('nodes') ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'patch') } : rule,
    );
    expect(off('coxswain-operator')).toEqual(rights(withoutPatch));
    expect(labelled('coxswain-operator')).toEqual(rights(OPERATOR_RULES));
    expect(off('coxswain-let-go')).toEqual(rights(LET_GO_RULES));
    expect(labelled('coxswain-let-go')).toEqual(rights([...LET_GO_RULES, ...LET_GO_LABEL_RULES]));
  });

  it('gives the operator rights on objects of Kueue and Kueue the right to read jobs, and makes the AdmissionCheck, only where they are asked for', async () => {
    expect(rendered).not.toContain('kueue.x-k8s.io');
    const values = ['queue.kueue.enabled=true', 'queue.kueue.admissionCheck=nodes'];
    const found = parseAllDocuments(await renderChart({ values })).map((document) => document.toJS() as Manifest);
    const role = found.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'coxswain-operator');
    expect(rights(role?.rules ?? [])).toEqual(rights([...OPERATOR_RULES, ...KUEUE_RULES]));
    const ofKueue = found.find(({ metadata }) => metadata.name === 'coxswain-kueue-manager');
    expect(rights(ofKueue?.rules ?? [])).toEqual(rights(KUEUE_MANAGER_RULES));
    expect(found.find(({ kind }) => kind === 'AdmissionCheck')).toMatchObject({
      metadata: { name: 'nodes' },
      spec: { controllerName: 'training.coxswain.dev/placement' },
    });
    expect(found.filter(({ kind }) => kind === 'CustomResourceDefinition')).toEqual([]);
  });

  it('gives the operator rights on DrainRequests only where they are answered', async () => {
    expect(rendered).not.toContain('nvsentinel.nvidia.com');
    const values = ['operator.answerDrainsIn=nvsentinel'];
    const found = parseAllDocuments(await renderChart({ values })).map((document) => document.toJS() as Manifest);
    const role = found.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'coxswain-operator');
    expect(rights(role?.rules ?? [])).toEqual(rights([...OPERATOR_RULES, ...DRAIN_RULES]));
  });

  it('gives the API exactly the rights that its code declares', () => {
    expect(rights(rulesOf('ClusterRole', 'coxswain-api'))).toEqual(rights(API_RULES));
  });

  it('lets the API ask whose a token is only where service accounts are let in, and tells it the audience', async () => {
    const set = ['api.serviceAccounts.enabled=true', 'api.serviceAccounts.audience=training'];
    const text = await renderChart({ values: set });
    const found = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    const role = found.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'coxswain-api');
    expect(rights(role?.rules ?? [])).toEqual(rights([...API_RULES, ...SERVICE_ACCOUNT_RULES]));
    expect(text).toMatch(/COXSWAIN_SERVICE_ACCOUNT_AUDIENCE\n\s+value: "training"/);
    expect(rendered).not.toContain('COXSWAIN_SERVICE_ACCOUNT');
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
    await plane.kubectl(['create', 'namespace', SYSTEM_NAMESPACE]);
  });

  afterAll(() => plane.stop());

  it('accepts the resource definitions, with the cost of their rules', async () => {
    expect(await plane.kubectl(['apply', '--server-side', '-f', join(CHART, 'definitions')])).toContain(
      'trainingjobs.training.coxswain.dev serverside-applied',
    );
  });

  it('accepts every object by server-side dry run', async () => {
    const answer = await plane.kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], {
      input: rendered,
    });
    expect(answer.trim().split('\n')).toHaveLength(manifests.length);
  });

  describe('with the admission policy', () => {
    const namespace = 'tenants';
    const asTenant = ['--as', 'tenant-admin', '-n', namespace];
    const asOperator = ['--as', `system:serviceaccount:${SYSTEM_NAMESPACE}:coxswain-operator`, '-n', namespace];
    const asApi = ['--as', `system:serviceaccount:${SYSTEM_NAMESPACE}:coxswain-api`, '-n', namespace];
    const asController = (name: string): readonly string[] => [
      '--as',
      `system:serviceaccount:kube-system:${name}`,
      '-n',
      namespace,
    ];
    const asCollector = asController('generic-garbage-collector');
    const asMigration = ['--as', 'storage-migration', '-n', namespace];
    const create = (who: readonly string[], object: unknown): Promise<string> =>
      plane.kubectl([...who, 'create', '-f', '-'], { input: JSON.stringify(object) });
    const patch = (who: readonly string[], what: readonly string[], change: unknown): Promise<string> =>
      plane.kubectl([...who, 'patch', ...what, '--type=merge', '-p', JSON.stringify(change)]);
    const grant = async (users: readonly string[], rules: readonly PolicyRule[]): Promise<void> => {
      const apiGroup = 'rbac.authorization.k8s.io';
      const metadata = { name: `rights-of-${users.join('-')}`, namespace };
      const roleRef = { apiGroup, kind: 'Role', name: metadata.name };
      const subjects = users.map((name) => ({ kind: 'User', apiGroup, name }));
      await create([], { apiVersion: `${apiGroup}/v1`, kind: 'Role', metadata, rules });
      await create([], { apiVersion: `${apiGroup}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects });
    };
    const status = (state: string): unknown => ({ status: { state } });

    beforeAll(async () => {
      const every = ['get', 'list', 'create', 'update', 'patch', 'delete'];
      const rules = [
        { apiGroups: ['training.coxswain.dev'], resources: EVERY_RESOURCE, verbs: every },
        { apiGroups: [''], resources: ['pods'], verbs: every },
      ];
      await plane.kubectl(['create', 'namespace', namespace]);
      // No pod can be made without it, and no controller makes it here.
      await plane.kubectl(['-n', namespace, 'create', 'serviceaccount', 'default']);
      await plane.kubectl(['apply', '-f', LOCAL_ROLES]);
      await grant(['tenant-admin', 'storage-migration'], rules);
      await create(asOperator, aPlacement('made-by-the-operator'));
      await create(asOperator, aCheckpoint('annotated', { annotations: { note: 'of others' } }));
      await create(asTenant, aJob('mine'));
      // A policy holds a moment after it was made.
      await waitFor(async () => create(asTenant, aPlacement('probe')).then(...refusedOr(/manage/)), {
        what: 'the policy to be in force',
      });
    });

    it('a namespace admin cannot go round the policy by another version', async () => {
      for (const version of SERVED_API_VERSIONS) {
        const forged = { ...aPlacement(`forged-${version}`), apiVersion: `${API_GROUP}/${version}` };
        await expect(create(asTenant, forged)).rejects.toThrow(/only the Coxswain operator writes placements/);
      }
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

    describe('of PriorityClasses', () => {
      const withClass = (name: string, priorityClassName: string): unknown => {
        const job = aJob(name) as { readonly spec: object };
        return { ...job, spec: { ...job.spec, priorityClassName } };
      };

      it('refuses a class that the user may not use, lets one pass that a Role of the namespace grants, and every job without a class', async () => {
        await expect(create(asTenant, withClass('urgent', 'urgent'))).rejects.toThrow(
          /tenant-admin may not use PriorityClass urgent for jobs in namespace tenants\. .*verb "use" on priorityclasses/,
        );
        const patched = patch(asTenant, ['tjob', 'mine'], { spec: { priorityClassName: 'urgent' } });
        await expect(patched).rejects.toThrow(/may not use PriorityClass urgent/);
        const use = { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: ['use'] };
        await grant(
          ['privileged-tenant'],
          [
            { ...use, resourceNames: ['high'] },
            { apiGroups: ['training.coxswain.dev'], resources: ['trainingjobs'], verbs: ['create', 'patch', 'get'] },
          ],
        );
        const asPrivileged = ['--as', 'privileged-tenant', '-n', namespace];
        await create(asPrivileged, withClass('high', 'high'));
        await expect(create(asPrivileged, withClass('urgent', 'urgent'))).rejects.toThrow(/may not use/);
        await create(asApi, withClass('by-the-api', 'urgent'));
        const ofSystem = create(asApi, withClass('system', 'system-node-critical'));
        await expect(ofSystem).rejects.toThrow(/for pods of Kubernetes itself/);
      });

      it('lets others change a job whose class stays', async () => {
        expect(await patch(asTenant, ['tjob', 'high'], { metadata: { labels: { a: 'b' } } })).toContain('patched');
        expect(await patch(asTenant, ['tjob', 'high'], { spec: { priorityClassName: null } })).toContain('patched');
      });
    });

    it('he may adopt a checkpoint, and no job saved it', async () => {
      const spec = { claimName: 'old-runs', path: 'llama/iter_0001000' };
      const adopted = (name: string, more: object, metadata: object = {}): unknown => ({
        ...(aCheckpoint(name) as object),
        metadata: { name, ...metadata },
        spec: { ...spec, ...more },
      });
      await create(asTenant, adopted('llama', {}));
      const bucket = { uri: 's3://training/runs' };
      await create(asTenant, adopted('in-a-bucket', { claimName: '', bucket }));
      await expect(create(asTenant, adopted('in-both', { bucket }))).rejects.toThrow(/either claimName or bucket/);
      await expect(create(asTenant, adopted('above', { path: '../etc' }))).rejects.toThrow(/relative and without/);
      await expect(create(asTenant, adopted('of-a-step', { step: 7 }))).rejects.toThrow(/found by a verification/);
      const labels = { 'training.coxswain.dev/job-uid': 'x' };
      await expect(create(asTenant, adopted('labelled', {}, { labels }))).rejects.toThrow(/only the Coxswain operator/);
      const convertedFrom = {
        checkpoint: 'a',
        uid: 'a',
        jobName: 'a',
        jobUid: 'a',
        step: 1,
        kind: 'DeepSpeedUniversal',
      };
      await expect(create(asTenant, adopted('converted', { convertedFrom }))).rejects.toThrow(
        /only the Coxswain operator/,
      );
      await expect(create(asTenant, adopted('a-e1-s20-universal', {}))).rejects.toThrow(/only the Coxswain operator/);
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

    it.each<[string, object, RegExp | undefined]>([
      ['pin it', { annotations: { [ANNOTATIONS.pin]: 'baseline' } }, undefined],
      [
        'ask for a verification, and unpin it',
        { annotations: { [ANNOTATIONS.pin]: null, [ANNOTATIONS.verify]: 'V3' } },
        undefined,
      ],
      ['set another annotation', { annotations: { [ANNOTATIONS.ranks]: '0' } }, /only the Coxswain operator writes/],
      ['set both', { annotations: { [ANNOTATIONS.pin]: 'x', other: 'x' } }, /only the Coxswain operator writes/],
      ['remove an annotation of others', { annotations: { note: null } }, /only the Coxswain operator writes/],
      ['change a label', { labels: { team: 'vision' } }, /only the Coxswain operator writes/],
      ['change an owner', { ownerReferences: [AS_OWNER] }, /only the Coxswain operator writes/],
      ['change its finalizers', HELD.metadata, /only the Coxswain operator writes/],
    ])('of a checkpoint the API may pin and verify and no more: %s', async (_what, metadata, refusal) => {
      const written = patch(asApi, ['tckpt', 'annotated', '--dry-run=server'], { metadata });
      await (refusal === undefined
        ? expect(written).resolves.toMatch(/patched/)
        : expect(written).rejects.toThrow(refusal));
    });

    it('of checkpoints the API deletes adopted ones alone', async () => {
      const adopted = { ...(aCheckpoint('mine') as object), spec: { claimName: 'old-runs', path: 'llama/step-7' } };
      await create(asApi, adopted);
      await expect(plane.kubectl([...asApi, 'delete', 'tckpt', 'mine'])).resolves.toMatch(/deleted/);
      await expect(plane.kubectl([...asApi, 'delete', 'tckpt', 'annotated', '--dry-run=server'])).rejects.toThrow(
        /deletes adopted checkpoints alone/,
      );
    });

    it('nor may the API write a status, or the namespace admin an annotation', async () => {
      const statusOf = ['tckpt', 'annotated', '--subresource=status'];
      await expect(patch(asApi, statusOf, status('Damaged'))).rejects.toThrow(/cannot (?:get|patch) resource/);
      const pinned = { metadata: { annotations: { [ANNOTATIONS.pin]: 'x' } } };
      await expect(patch(asTenant, ['tckpt', 'annotated'], pinned)).rejects.toThrow(
        /only the Coxswain operator writes/,
      );
    });

    it('the garbage collector removes finalizers, and a migration of storage writes objects as they are', async () => {
      await patch(['-n', namespace], ['tplace', 'made-by-the-operator'], HELD);
      await patch(asCollector, ['tplace', 'made-by-the-operator'], { metadata: { finalizers: null } });
      const text = await plane.kubectl(['-n', namespace, 'get', 'tplace', 'made-by-the-operator', '-o', 'json']);
      expect(JSON.parse(text)).not.toHaveProperty('metadata.finalizers');
      expect(await plane.kubectl([...asMigration, 'replace', '-f', '-'], { input: text })).toContain('replaced');
    });

    describe('pods of a gang', () => {
      const REFUSED = /only the Coxswain operator makes pods that look like those of a gang, and changes their/;
      const tryToMake = (who: readonly string[], pod: unknown): Promise<string> =>
        plane.kubectl([...who, 'create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(pod) });
      const tryToChange = (who: readonly string[], what: readonly string[], change: unknown): Promise<string> =>
        patch(who, ['pod', '--dry-run=server', ...what], change);
      const asLetGo = ['--as', 'let-go', '-n', namespace];
      const asKubelet = ['--as', 'kubelet', '-n', namespace];

      beforeAll(async () => {
        await grant(['let-go'], LET_GO_RULES.concat({ apiGroups: [''], resources: ['pods'], verbs: ['get'] }));
        await grant(['kubelet'], [{ apiGroups: [''], resources: ['pods/status'], verbs: ['get', 'patch'] }]);
        await create(asOperator, aPod('of-a-gang', OURS, GATED));
        await create(asTenant, aPod('his-own', { labels: { app: 'web' } }));
        await waitFor(async () => tryToMake(asTenant, aPod('probe', OURS)).then(...refusedOr(REFUSED)), {
          what: 'the policy on pods to be in force',
        });
      });

      it.each<[string, object, object]>([
        ['our label', { labels: OURS.labels }, {}],
        ['our finalizer', { finalizers: OURS.finalizers }, {}],
        ['a job as its owner', { ownerReferences: OURS.ownerReferences }, {}],
        ['our gate', {}, GATED],
        ['more owners than are looked through', { ownerReferences: OTHERS }, {}],
      ])('a namespace admin cannot make one with %s, nor can a controller for him', async (_what, metadata, spec) => {
        const forged = aPod('forged', metadata, spec);
        await Promise.all(
          [asTenant, asController('replicaset-controller')].map((who) =>
            expect(tryToMake(who, forged)).rejects.toThrow(REFUSED),
          ),
        );
      });

      it('he is told what to do', async () => {
        await expect(tryToMake(asTenant, aPod('forged', OURS))).rejects.toThrow(
          /To train, create a TrainingJob; to let tenant-admin do this, grant it the verb "manage" on trainingjobs of training\.coxswain\.dev in namespace tenants/,
        );
      });

      it.each<[string, object]>([
        ['nothing of ours', {}],
        ['the name of a job as a label', { labels: { [LABELS.jobName]: 'mine' } }],
        [
          "a job of somebody else's as its owner",
          { ownerReferences: [{ ...AS_OWNER, apiVersion: 'kubeflow.org/v1' }] },
        ],
      ])('he may make one with %s', async (_what, metadata) => {
        expect(await tryToMake(asTenant, aPod('free', metadata))).toContain('created');
      });

      it.each<[string, readonly string[], object]>([
        ["say that a pod is no job's", ['of-a-gang'], { metadata: { labels: { [LABELS.jobUid]: null } } }],
        ['say that it is of another epoch', ['of-a-gang'], { metadata: { labels: { [LABELS.epoch]: '9' } } }],
        ['take its owner away', ['of-a-gang'], { metadata: { ownerReferences: null } }],
        ['let go of it', ['of-a-gang'], { metadata: { finalizers: null } }],
        ['start it', ['of-a-gang'], { spec: { schedulingGates: [] } }],
        ['make a pod of his own one', ['his-own'], { metadata: { ownerReferences: [AS_OWNER] } }],
      ])('he cannot %s', async (_what, pod, change) => {
        await expect(tryToChange(asTenant, pod, change)).rejects.toThrow(REFUSED);
      });

      const theirs = {
        metadata: { annotations: { a: 'b' }, labels: { team: 'x' }, finalizers: [POD_FINALIZER, 'example.com/theirs'] },
      };
      const failed = { status: { phase: 'Failed' } };
      it.each<[string, readonly string[], readonly string[], object]>([
        ['a namespace admin writes what is his', asTenant, [], theirs],
        ['the garbage collector takes owners away', asCollector, [], { metadata: { ownerReferences: null } }],
        ['kubelet, PodGC and node controller write its status', asKubelet, ['--subresource=status'], failed],
        ['the hook after an uninstall lets go of it', asLetGo, [], { metadata: { finalizers: null } }],
        ['the operator lets go of it', asOperator, [], { metadata: { finalizers: null } }],
        ['the operator starts it', asOperator, [], { spec: { schedulingGates: [] } }],
      ])('nothing keeps others from their work: %s', async (_what, who, how, change) => {
        expect(await tryToChange(who, ['of-a-gang', ...how], change)).toContain('patched');
      });

      it('who may delete pods may delete these', async () => {
        const remove = ['delete', 'pod', 'of-a-gang', '--dry-run=server', '--wait=false'];
        expect(await plane.kubectl([...asTenant, ...remove])).toContain('deleted');
      });
    });
  });
});

const EVERY_RESOURCE = ['trainingjobs', 'trainingjobs/status', 'placements', 'checkpoints', 'checkpoints/status'];
const HELD = { metadata: { finalizers: ['foregroundDeletion'] } };
const ABOUT = { jobName: 'mine', jobUid: 'uid', epoch: 1, layout: {} };

function aPod(name: string, metadata: object, spec: object = {}): unknown {
  const containers = [{ name: 'any', image: 'any' }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec: { containers, ...spec } };
}

function aPlacement(name: string): object {
  const spec = { ...ABOUT, worldSize: 1, ranksPerPod: 1, nodes: ['node'] };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'Placement', metadata: { name }, spec };
}

function aCheckpoint(name: string, metadata: object = {}): unknown {
  const saved = { format: 'torch_dcp', bytes: 1, files: 1, manifestSha256: 'a'.repeat(64) };
  const spec = { ...ABOUT, step: 1, claimName: 'checkpoints', path: 'mine/1', ...saved };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'Checkpoint', metadata: { name, ...metadata }, spec };
}

function aJob(name: string): unknown {
  const spec = { engine: { name: 'command', image: 'any', command: ['x'] }, layout: {} };
  return { apiVersion: 'training.coxswain.dev/v1alpha1', kind: 'TrainingJob', metadata: { name }, spec };
}

/** For `then`: whether it was refused in such words. */
function refusedOr(words: RegExp): [() => boolean, (error: unknown) => boolean] {
  return [() => false, (error) => words.test(String(error))];
}
