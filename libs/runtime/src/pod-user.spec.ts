import { withPodUser, isUserUnset } from './index.ts';

const trainer = (fields: object) => ({ template: { spec: { containers: [{ name: 'trainer', ...fields }] } } });
const spec = (fields: object) => ({ template: { spec: fields } });

describe('who ranks are', () => {
  it.each<[string, boolean, Parameters<typeof isUserUnset>[0]]>([
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
    ['a ComputeDomain', false, { template: {}, computeDomain: {} }],
    ['the host’s files', false, spec({ volumes: [{ name: 'gib', hostPath: { path: '/gib' } }] })],
    ['the host’s network', false, spec({ hostNetwork: true })],
  ])('is left open by %s: %s', (_what, want, runtime) => {
    expect(isUserUnset(runtime)).toBe(want);
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
  interface Seen {
    readonly spec: {
      readonly securityContext: object;
      readonly initContainers: readonly { readonly securityContext: object }[];
      readonly containers: readonly { readonly env: readonly { name: string }[]; readonly securityContext: object }[];
    };
  }

  it('is that user in the trainer and the launcher, whose volumes are of its group; others are who they were', () => {
    const { spec: made } = withPodUser(pod, 65532) as unknown as Seen;
    const own = { runAsUser: 65532, runAsGroup: 65532, runAsNonRoot: true };
    expect(made.securityContext).toMatchObject({ fsGroup: 65532, fsGroupChangePolicy: 'OnRootMismatch' });
    expect(made.initContainers[0]?.securityContext).toEqual({ allowPrivilegeEscalation: false, ...own });
    expect(made.containers.map(({ securityContext }) => securityContext)).toEqual([own, { runAsUser: 9 }]);
  });

  it.each<[string, object[], string[]]>([
    ['has a home and a name', [], ['HOME', 'USER']],
    ['keeps the home that somebody gave it', [{ name: 'HOME', value: '/x' }], ['USER', 'HOME']],
  ])('%s', (_what, env, want) => {
    const [one] = pod.spec.containers;
    const { spec: made } = withPodUser({ spec: { ...pod.spec, containers: [{ ...one, env }] } }, 1) as unknown as Seen;
    expect(made.containers[0]?.env.map(({ name }) => name)).toEqual(want);
  });
});
