import { aJobSpec, aRuntime } from '@coxswain/api-types/testing';
import { MAX_RUNTIME_BYTES, readRuntime, runtimeRefusal } from './read-runtime.ts';

type Json = Readonly<Record<string, unknown>>;

const refusalOf = (kind: 'ClusterTrainingRuntime' | 'TrainingRuntime', template: Json): string | undefined => {
  const { usable } = readRuntime(aRuntime(template, { kind }));
  return usable.kind === 'refused' ? usable.message : undefined;
};
const spec = (fields: Json): Json => ({ spec: fields });
const trainer = (fields: Json): Json => spec({ containers: [{ name: 'trainer', ...fields }] });
const beside = (fields: Json): Json => spec({ containers: [{ name: 'helper', ...fields }] });

/** What makes pods of an EFA platform. */
const EFA = {
  metadata: { labels: { team: 'a' }, annotations: { 'networking.gke.io/interfaces': '[]' } },
  spec: {
    nodeSelector: { 'node.kubernetes.io/instance-type': 'p5.48xlarge' },
    hostNetwork: true,
    priorityClassName: 'training',
    runtimeClassName: 'nvidia',
    serviceAccountName: 'trainer',
    imagePullSecrets: [{ name: 'registry' }],
    containers: [
      {
        name: 'trainer',
        resources: { limits: { 'vpc.amazonaws.com/efa': 32 } },
        securityContext: { runAsUser: 0, capabilities: { add: ['IPC_LOCK'] } },
        volumeMounts: [{ name: 'devices', mountPath: '/dev/infiniband' }],
      },
    ],
    volumes: [{ name: 'devices', hostPath: { path: '/dev/infiniband' } }],
  },
};

describe('an administrator’s runtime', () => {
  it('may hold whatever a platform needs', () => {
    expect(refusalOf('ClusterTrainingRuntime', EFA)).toBeUndefined();
  });

  it('says what is looked at before the first rank', () => {
    const runtime = aRuntime({}, { kind: 'ClusterTrainingRuntime' });
    const { usable } = readRuntime({ ...runtime, spec: { ...runtime.spec, preflight: { level: 'Full' } as never } });
    expect(usable).toMatchObject({ snapshot: { preflight: { level: 'Full', timeoutSeconds: 60 } } });
  });

  it('may hold nothing at all', () => {
    expect(refusalOf('ClusterTrainingRuntime', {})).toBeUndefined();
  });
});

describe('no runtime writes what the operator writes', () => {
  it.each<[string, Json, string]>([
    ['another part of a pod than metadata and spec', { status: {} }, 'status'],
    ['a name', { metadata: { name: 'x' } }, 'metadata.name'],
    ['an owner', { metadata: { ownerReferences: [] } }, 'metadata.ownerReferences'],
    ['our labels', { metadata: { labels: { 'training.coxswain.dev/job-uid': 'x' } } }, 'metadata.labels.training'],
    ['our annotations', { metadata: { annotations: { 'training.coxswain.dev/ranks': '0' } } }, 'metadata.annotations.'],
    ['whether pods are started again', spec({ restartPolicy: 'Always' }), 'spec.restartPolicy'],
    ['how long a save may take', spec({ terminationGracePeriodSeconds: 1 }), 'spec.terminationGracePeriodSeconds'],
    ['gates', spec({ schedulingGates: [] }), 'spec.schedulingGates'],
    ['a node', spec({ nodeName: 'a' }), 'spec.nodeName'],
    ['affinity', spec({ affinity: {} }), 'spec.affinity'],
    ['spread', spec({ topologySpreadConstraints: [] }), 'spec.topologySpreadConstraints'],
    ['the token of an account', spec({ automountServiceAccountToken: true }), 'spec.automountServiceAccountToken'],
    ['who reaps processes', spec({ shareProcessNamespace: false }), 'spec.shareProcessNamespace'],
    ['the program of the trainer', trainer({ command: ['sh'] }), 'spec.containers[trainer].command'],
    ['arguments of the trainer', trainer({ args: ['x'] }), 'spec.containers[trainer].args'],
    ['where the launcher reports', trainer({ terminationMessagePath: '/x' }), 'terminationMessagePath'],
    ['GPUs', trainer({ resources: { limits: { 'nvidia.com/gpu': 8 } } }), 'resources nvidia.com/gpu'],
    ['GPUs of a container beside it', beside({ resources: { requests: { 'nvidia.com/gpu': 1 } } }), 'container helper'],
    ['our variables', trainer({ env: [{ name: 'COXSWAIN_EPOCH', value: '9' }] }), 'env COXSWAIN_EPOCH'],
    ['our volumes', spec({ volumes: [{ name: 'coxswain-token', emptyDir: {} }] }), 'spec.volumes[coxswain-token]'],
    [
      'mounts of our volumes',
      beside({ volumeMounts: [{ name: 'coxswain-token', mountPath: '/t' }] }),
      'volumeMounts /t',
    ],
    [
      'mounts over our paths',
      trainer({ volumeMounts: [{ name: 'x', mountPath: '//coxswain/bin/' }] }),
      '//coxswain/bin/',
    ],
    ...[
      'coxswain/bin',
      '/./coxswain/bin',
      '/x/../coxswain',
      '/var/run/secrets/coxswain',
      '/run/secrets/coxswain/',
      '/dev/termination-log',
    ].map(
      (mountPath) =>
        [
          `mounts at ${mountPath}`,
          trainer({ volumeMounts: [{ name: 'x', mountPath }] }),
          `volumeMounts ${mountPath}`,
        ] as [string, Json, string],
    ),
    ['our init container', spec({ initContainers: [{ name: 'install-launcher' }] }), 'container install-launcher'],
    ['two containers of a name', spec({ containers: [{ name: 'a' }, { name: 'a' }] }), 'container a'],
  ])('%s', (_what, template, field) => {
    for (const kind of ['ClusterTrainingRuntime', 'TrainingRuntime'] as const) {
      expect(refusalOf(kind, template)).toContain(field);
    }
  });
});

describe('what nobody could join with a pod is refused, and not left out', () => {
  it.each<[string, Json, string]>([
    ['a spec that is a list', { spec: [] }, 'spec cannot be set: it must be an object'],
    ['labels that are a text', { metadata: { labels: 'a=b' } }, 'metadata.labels'],
    ['containers by name', spec({ containers: { trainer: {} } }), 'spec.containers cannot be set: it must be a list'],
    ['a container that is a text', spec({ containers: ['trainer'] }), 'spec.containers'],
    ['a toleration that is no list', spec({ tolerations: { operator: 'Exists' } }), 'spec.tolerations'],
    ['labels of nodes as a list', spec({ nodeSelector: ['pool=a'] }), 'spec.nodeSelector'],
    ['variables by name', trainer({ env: { NCCL_NET: 'gIB' } }), 'container trainer: env'],
    ['variables of another container by name', beside({ env: { A: 'b' } }), 'container helper: env'],
    ['limits as a list', trainer({ resources: { limits: ['rdma/ib=8'] } }), 'container trainer: resources.limits'],
  ])('%s', (_what, template, field) => {
    for (const kind of ['ClusterTrainingRuntime', 'TrainingRuntime'] as const) {
      expect(refusalOf(kind, template)).toContain(field);
    }
  });

  it('but null is what is left out', () => {
    expect(refusalOf('ClusterTrainingRuntime', { metadata: null, ...spec({ containers: null }) })).toBeUndefined();
  });
});

describe('a namespace’s runtime', () => {
  it('may choose nodes, devices, mounts of its own and a user', () => {
    const template = {
      spec: {
        nodeSelector: { pool: 'a' },
        imagePullSecrets: [{ name: 'job-registry' }],
        securityContext: {
          runAsUser: 1000,
          runAsNonRoot: true,
          fsGroup: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'trainer',
            image: 'registry.example/train:1',
            env: [
              { name: 'A', value: '1' },
              { name: 'B', valueFrom: { secretKeyRef: { name: 'job-hf', key: 'token' } } },
            ],
            resources: { limits: { 'rdma/ib': 1 } },
            volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
          { name: 'logs', image: 'busybox', command: ['tail'], ports: [{ containerPort: 80 }] },
        ],
        volumes: [
          { name: 'scratch', emptyDir: {} },
          { name: 'token', secret: { secretName: 'job-hf' } },
        ],
      },
    };
    expect(refusalOf('TrainingRuntime', template)).toBeUndefined();
  });

  it.each<[string, Json, string]>([
    ['the host’s network', spec({ hostNetwork: true }), 'spec.hostNetwork'],
    ['the host’s processes', spec({ hostPID: true }), 'spec.hostPID'],
    ['the host’s IPC', spec({ hostIPC: true }), 'spec.hostIPC'],
    ['the host’s users', spec({ hostUsers: true }), 'spec.hostUsers'],
    ['the host’s files', spec({ volumes: [{ name: 'x', hostPath: { path: '/' } }] }), 'spec.volumes[x].hostPath'],
    ['an account', spec({ serviceAccountName: 'admin' }), 'spec.serviceAccountName'],
    ['an account by its old name', spec({ serviceAccount: 'admin' }), 'spec.serviceAccount'],
    ['a priority', spec({ priorityClassName: 'system-node-critical' }), 'spec.priorityClassName'],
    ['a priority by number', spec({ priority: 2_000_000_000 }), 'spec.priority'],
    ['another scheduler', spec({ schedulerName: 'x' }), 'spec.schedulerName'],
    ['a runtime class', spec({ runtimeClassName: 'x' }), 'spec.runtimeClassName'],
    ['annotations', { metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': 'x' } } }, 'metadata.annotations'],
    ['labels', { metadata: { labels: { app: 'x' } } }, 'metadata.labels'],
    ['nodes that were set apart', spec({ tolerations: [{ operator: 'Exists' }] }), 'spec.tolerations'],
    ['devices by claim', spec({ resourceClaims: [{ name: 'x' }] }), 'spec.resourceClaims'],
    ['devices by claim in a container', trainer({ resources: { claims: [{ name: 'x' }] } }), 'resources.claims'],
    ['kernel settings', spec({ securityContext: { sysctls: [{ name: 'kernel.msgmax' }] } }), 'securityContext.sysctls'],
    ['root', spec({ securityContext: { runAsUser: 0 } }), 'spec.securityContext.runAsUser'],
    ['the group of root', spec({ securityContext: { fsGroup: 0 } }), 'spec.securityContext.fsGroup'],
    ['more groups', spec({ securityContext: { supplementalGroups: [0] } }), 'securityContext.supplementalGroups'],
    ['no seccomp', spec({ securityContext: { seccompProfile: { type: 'Unconfined' } } }), 'seccompProfile.type'],
    ['root in the trainer', trainer({ securityContext: { runAsUser: 0 } }), 'spec.containers[trainer].securityContext'],
    ['a user that is no number', trainer({ securityContext: { runAsUser: '0' } }), 'runAsUser'],
    [
      'privileges',
      beside({ securityContext: { privileged: true } }),
      'spec.containers[helper].securityContext.privileged',
    ],
    ['capabilities', trainer({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }), 'capabilities.add'],
    ['escalation', trainer({ securityContext: { allowPrivilegeEscalation: true } }), 'allowPrivilegeEscalation'],
    ['all of /proc', trainer({ securityContext: { procMount: 'Unmasked' } }), 'procMount'],
    ['raw devices', trainer({ volumeDevices: [{ name: 'x' }] }), 'volumeDevices'],
    ['a port of the host', beside({ ports: [{ containerPort: 80, hostPort: 80 }] }), 'hostPort'],
    [
      'mounts that reach the host',
      beside({ volumeMounts: [{ mountPropagation: 'Bidirectional' }] }),
      'mountPropagation',
    ],
    ['requests by the kubelet', beside({ startupProbe: { httpGet: { host: '10.0.0.1' } } }), 'startupProbe.httpGet'],
    ['hooks', beside({ lifecycle: { postStart: {} } }), 'lifecycle'],
    [
      'a foreign Secret as a variable',
      trainer({ env: [{ valueFrom: { secretKeyRef: { name: 'db' } } }] }),
      'secretKeyRef.name',
    ],
    ['a foreign Secret as variables', beside({ envFrom: [{ secretRef: { name: 'db' } }] }), 'secretRef.name'],
    [
      'a foreign Secret as files',
      spec({ volumes: [{ name: 'x', secret: { secretName: 'db' } }] }),
      'secret.secretName',
    ],
    [
      'a foreign Secret among others',
      spec({ volumes: [{ name: 'x', projected: { sources: [{ secret: { name: 'db' } }] } }] }),
      'sources[0].secret.name',
    ],
    [
      'a token of its account',
      spec({ volumes: [{ name: 'x', projected: { sources: [{ serviceAccountToken: { path: 'x' } }] } }] }),
      'sources[0].serviceAccountToken',
    ],
    [
      'a foreign Secret to pull with',
      spec({ imagePullSecrets: [{ name: 'registry' }] }),
      'imagePullSecrets[registry].name',
    ],
    [
      'claims that are made with its pods',
      spec({ volumes: [{ name: 'x', ephemeral: { volumeClaimTemplate: { spec: {} } } }] }),
      'spec.volumes[x].ephemeral',
    ],
    ['other kinds of volumes', spec({ volumes: [{ name: 'x', nfs: { server: 'x' } }] }), 'spec.volumes[x].nfs'],
    ['other kinds by a driver', spec({ volumes: [{ name: 'x', csi: { driver: 'x' } }] }), 'spec.volumes[x].csi'],
    [
      'init containers that do',
      spec({ initContainers: [{ name: 'i', securityContext: { privileged: true } }] }),
      '[i]',
    ],
    ['what Kubernetes may add', spec({ somethingNew: true }), 'spec.somethingNew'],
    ['fields that every object of the language has', spec({ constructor: {} }), 'spec.constructor'],
    ['a text where a list is', spec({ volumes: 'hostPath' }), 'spec.volumes'],
    ['a list where an object is', spec({ securityContext: [{ runAsUser: 0 }] }), 'spec.securityContext'],
  ])('may not take %s, which an administrator’s may', (_what, template, field) => {
    expect(refusalOf('TrainingRuntime', template)).toContain(field);
  });

  it('says who may', () => {
    expect(refusalOf('TrainingRuntime', spec({ hostNetwork: true }))).toBe(
      "TrainingRuntime fabric: template: spec.hostNetwork cannot be set: a namespace's runtime cannot hold it; an administrator's ClusterTrainingRuntime can",
    );
  });

  it('with many faults is told of some of them', () => {
    const message = refusalOf(
      'TrainingRuntime',
      spec({ hostPID: true, hostIPC: true, hostNetwork: true, hostUsers: true }),
    );
    expect(message).toMatch(/; and 1 more$/);
  });
});

describe('a runtime that nobody could use', () => {
  const nested = (levels: number): unknown => (levels === 0 ? {} : [nested(levels - 1)]);
  it.each<[string, Json, RegExp]>([
    [
      'is too large',
      { template: { metadata: { labels: { a: 'x'.repeat(MAX_RUNTIME_BYTES) } } } },
      /bytes, and 16384 at most/,
    ],
    ['is nested without end', { template: { spec: { tolerations: nested(2_000) } } }, /nested deeper than 24/],
    ['has a template that is a text', { template: 'spec' }, /spec\.template/],
    ['has a script beside the path', { sourceScript: 'setup.sh' }, /spec\.sourceScript must be an absolute path/],
    ['has a field that we do not know', { image: 'x' }, /cannot be read/],
  ])('%s', (_what, fields, sentence) => {
    const { usable } = readRuntime(aRuntime({}, { spec: fields }));
    expect(usable).toEqual({ kind: 'refused', message: expect.stringMatching(sentence) as string });
  });

  it('has no spec at all, as none of ours has', () => {
    const { spec: _, ...rest } = aRuntime();
    expect(readRuntime(rest as ReturnType<typeof aRuntime>).usable.kind).toBe('refused');
  });
});

describe('whether a job can use a runtime', () => {
  const ask = (
    job: Parameters<typeof aJobSpec>[0],
    template: Json,
    more: Parameters<typeof aRuntime>[1] = {},
  ): string | undefined =>
    runtimeRefusal(
      { namespace: 'research', spec: aJobSpec({ ...job, runtimeRef: { name: 'fabric' } }) },
      readRuntime(aRuntime(template, more)),
    );
  const engine = aJobSpec().engine;
  const { image: _image, ...withoutImage } = engine;

  it.each<[string, Parameters<typeof ask>, RegExp | undefined]>([
    ['as it stands', [{}, {}], undefined],
    ['in a namespace that it is for', [{}, {}, { spec: { namespaces: ['research'] } }], undefined],
    ['not in another', [{}, {}, { spec: { namespaces: ['other'] } }], /is not for namespace research; choose another/],
    ['not where it is for none', [{}, {}, { spec: { namespaces: [] } }], /is not for namespace research/],
    ['without an image of its own', [{ engine: withoutImage }, trainer({ image: 'registry.example/a' })], undefined],
    [
      'not where neither has an image',
      [{ engine: withoutImage }, {}],
      /engine\.image is required: .*fabric gives no image/,
    ],
    [
      'with other variables',
      [{ engine: { ...engine, env: [{ name: 'A', value: '1' }] } }, trainer({ env: [{ name: 'B' }] })],
      undefined,
    ],
    [
      'not with a variable that the runtime sets',
      [
        { engine: { ...engine, env: [{ name: 'NCCL_NET', value: 'Socket' }] } },
        trainer({ env: [{ name: 'NCCL_NET' }] }),
      ],
      /variable NCCL_NET is set by ClusterTrainingRuntime fabric; leave it out/,
    ],
    ['not one that is refused', [{}, spec({ nodeName: 'a' })], /spec\.nodeName cannot be set/],
    ['with standbys', [{ standby: 1 }, {}], undefined],
    [
      'not with standbys in a ComputeDomain',
      [{ standby: 1 }, {}, { spec: { computeDomain: {} } }],
      /standby cannot be used with ClusterTrainingRuntime fabric: it has computeDomain/,
    ],
  ])('%s', (_what, asked, refusal) => {
    const given = ask(...asked);
    if (refusal === undefined) expect(given).toBeUndefined();
    else expect(given).toMatch(refusal);
  });
});
