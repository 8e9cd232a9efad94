import { containersWithoutUser, withUnprivilegedUser } from './index.ts';

type Runtime = NonNullable<Parameters<typeof withUnprivilegedUser>[1]>;
const spec = (fields: object, kind: Runtime['kind'] = 'ClusterTrainingRuntime'): Runtime => ({
  kind,
  template: { spec: fields },
});
const trainer = (fields: object, kind?: Runtime['kind']): Runtime =>
  spec({ containers: [{ name: 'trainer', ...fields }] }, kind);
const ofNamespace = (fields: object): Runtime => trainer(fields, 'TrainingRuntime');

const UID = 65532;
const OWN = { runAsUser: UID, runAsGroup: UID, runAsNonRoot: true };
interface Seen {
  readonly spec: {
    readonly securityContext: object;
    readonly initContainers: readonly { readonly securityContext: object }[];
    readonly containers: readonly { readonly env: readonly { name: string }[]; readonly securityContext?: object }[];
  };
}
const made = (pod: object, runtime: Runtime | undefined, uid: number | undefined = UID): Seen['spec'] =>
  (withUnprivilegedUser(pod as Record<string, unknown>, runtime, uid) as unknown as Seen).spec;

describe('who ranks are', () => {
  it.each<[string, boolean, Runtime | undefined]>([
    ['no runtime', true, undefined],
    ['a runtime with variables alone', true, trainer({ env: [{ name: 'NCCL_IB_DISABLE', value: '1' }] })],
    ['a runtime that chooses nodes', true, spec({ nodeSelector: { pool: 'a' } })],
    [
      'a runtime whose sidecar is of a user',
      true,
      spec({ containers: [{ name: 'x', securityContext: { runAsUser: 0 } }] }),
    ],
    ['a runtime that names a user', false, spec({ securityContext: { runAsUser: 7 } })],
    ['a runtime that names root for the trainer', false, trainer({ securityContext: { runAsUser: 0 } })],
    ['a runtime that wants whoever the image says', false, spec({ securityContext: { runAsNonRoot: false } })],
    ['capabilities', false, trainer({ securityContext: { capabilities: { add: ['IPC_LOCK'] } } })],
    ['privileges', false, trainer({ securityContext: { privileged: true } })],
    ['devices', false, trainer({ resources: { limits: { 'rdma/ib': 1 } } })],
    ['claims', false, spec({ resourceClaims: [{ name: 'nics' }] })],
    ['a ComputeDomain', false, { kind: 'ClusterTrainingRuntime', template: {}, computeDomain: {} }],
    ['the host’s files', false, spec({ volumes: [{ name: 'gib', hostPath: { path: '/gib' } }] })],
    ['the host’s network', false, spec({ hostNetwork: true })],
    ['devices of a namespace’s runtime', true, ofNamespace({ resources: { limits: { 'rdma/ib': 1 } } })],
    [
      'a namespace’s runtime that drops capabilities',
      true,
      ofNamespace({ securityContext: { privileged: false, capabilities: { drop: ['ALL'] } } }),
    ],
  ])('is left open by %s: %s', (_what, want, runtime) => {
    const [only] = made({ spec: { containers: [{ name: 'trainer' }] } }, runtime).containers;
    expect(only?.securityContext).toEqual(want ? OWN : undefined);
  });

  const pod = {
    spec: {
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      initContainers: [{ name: 'install-launcher', securityContext: { allowPrivilegeEscalation: false } }],
      containers: [
        { name: 'trainer', env: [{ name: 'A', value: 'b' }], volumeMounts: [] },
        { name: 'beside', securityContext: { runAsUser: 9 } },
      ],
    },
  };
  it('is that user in the trainer and the launcher, whose volumes are of its group; others are who they were', () => {
    const seen = made(pod, undefined);
    expect(seen.securityContext).toMatchObject({ fsGroup: 65532, fsGroupChangePolicy: 'OnRootMismatch' });
    expect(seen.initContainers[0]?.securityContext).toEqual({ allowPrivilegeEscalation: false, ...OWN });
    expect(seen.containers.map(({ securityContext }) => securityContext)).toEqual([OWN, { runAsUser: 9 }]);
  });

  it.each<[string, object[], string[]]>([
    ['has a home and a name', [], ['HOME', 'USER']],
    ['keeps the home that somebody gave it', [{ name: 'HOME', value: '/x' }], ['USER', 'HOME']],
  ])('%s', (_what, env, want) => {
    const [one] = pod.spec.containers;
    const seen = made({ spec: { ...pod.spec, containers: [{ ...one, env }] } }, undefined, 1);
    expect(seen.containers[0]?.env.map(({ name }) => name)).toEqual(want);
  });
});

describe('no container of a namespace’s runtime is root', () => {
  const pod = (...contexts: readonly object[]) => ({
    spec: {
      initContainers: [{ name: 'install-launcher' }, { name: 'prepare', securityContext: contexts[0] }],
      containers: [{ name: 'trainer' }, { name: 'daemon', securityContext: contexts[1] }],
    },
  });
  const contextsOf = (seen: Seen['spec']): readonly unknown[] =>
    [...seen.initContainers, ...seen.containers].map(({ securityContext }) => securityContext);

  it('where none names a user', () => {
    expect(contextsOf(made(pod(), ofNamespace({})))).toEqual([OWN, OWN, OWN, OWN]);
  });

  it('where they name users of their own, which stay', () => {
    const seen = contextsOf(made(pod({ runAsUser: 7 }, { runAsNonRoot: true }), ofNamespace({})));
    expect(seen).toEqual([OWN, { runAsUser: 7, runAsNonRoot: true }, OWN, { runAsNonRoot: true }]);
  });

  it('where its trainer has a device, which in an administrator’s runtime leaves it to the image', () => {
    const device = { resources: { limits: { 'rdma/ib': 1 } } };
    expect(contextsOf(made(pod(), ofNamespace(device)))).toEqual([OWN, OWN, OWN, OWN]);
    expect(contextsOf(made(pod(), trainer(device)))).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('unless an administrator leaves all users to the images', () => {
    expect(withUnprivilegedUser(pod(), ofNamespace({}), undefined)).toEqual(pod());
  });

  it.each<[string, readonly string[], Runtime]>([
    ['none of an administrator’s', [], spec({ containers: [{ name: 'daemon' }] })],
    [
      'those beside the trainer, of a user’s',
      ['prepare', 'daemon'],
      spec(
        { initContainers: [{ name: 'prepare' }], containers: [{ name: 'trainer' }, { name: 'daemon' }] },
        'TrainingRuntime',
      ),
    ],
    [
      'none where the pod names a user',
      [],
      spec({ securityContext: { runAsUser: 7 }, containers: [{ name: 'daemon' }] }, 'TrainingRuntime'),
    ],
  ])('people hear that containers got a user: %s', (_title, names, runtime) => {
    expect(containersWithoutUser(runtime)).toEqual(names);
  });
});
