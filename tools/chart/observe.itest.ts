/** The admission policy for observed pods, evaluated by a real API server. */
import { OBSERVE_CONFIG_MAP, OBSERVED_POD, OBSERVE_TOKEN_AUDIENCE } from '@coxswain/api-types';
import { startControlPlane, SYSTEM_NAMESPACE, type ControlPlane, waitFor } from '@coxswain/local-cluster';
import { parseAllDocuments } from 'yaml';
import { NAMESPACE_RULES, OBSERVE_NAMESPACE_RULES } from '../../apps/operator/src/permissions.ts';
import { CHART, helm, renderChart } from './render.ts';

const ON = ['observe.enabled=true', 'observe.namespaces={research}'];
const LABELS = { 'training.coxswain.dev/observe': 'true' };
const MAIN = { name: 'main', image: 'example/gpt', command: ['python', 'train.py', '--name', 'a b'] };

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: unknown;
}

const objectsOf = (text: string): readonly Manifest[] => parseAllDocuments(text).map((one) => one.toJS() as Manifest);

describe('the chart', () => {
  it('observes nothing by default', async () => {
    const text = await renderChart();
    expect(text).not.toContain('MutatingAdmissionPolicy');
    expect(text).toMatch(/COXSWAIN_OBSERVE_NAMESPACES\n\s+value: ""/);
  });

  it('gives the operator one more right where pods are observed: to write the parameters of the policy', async () => {
    const roles = objectsOf(await renderChart({ templates: ['templates/operator-rbac.yaml'], values: ON }));
    const role = roles.find(({ kind }) => kind === 'Role');
    expect(role?.rules).toEqual([...NAMESPACE_RULES({ leaseName: 'coxswain-operator' }), ...OBSERVE_NAMESPACE_RULES]);
  });

  it('needs Kubernetes 1.36, and says so', async () => {
    const render = (version: string): Promise<string> => {
      const set = ON.flatMap((value) => ['--set', value]);
      return helm('template', 'coxswain', CHART, '--namespace', SYSTEM_NAMESPACE, '--kube-version', version, ...set);
    };
    await expect(render('v1.35.9-gke.1')).rejects.toThrow('does not serve MutatingAdmissionPolicy');
    expect(await render('v1.36.0-gke.1')).toContain('MutatingAdmissionPolicyBinding');
  });

  it('tells the operator the namespaces', async () => {
    const text = await renderChart({ templates: ['templates/operator.yaml'], values: ON });
    expect(text).toMatch(/COXSWAIN_OBSERVE_NAMESPACES\n\s+value: "research"/);
  });

  it('wants to know in which namespaces', async () => {
    await expect(renderChart({ values: ['observe.enabled=true'] })).rejects.toThrow('observe.namespaces is empty');
  });
});

describe('a pod that is created', () => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane({});
    for (const name of ['research', 'vision', SYSTEM_NAMESPACE])
      await plane.admin.json({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
    await waitFor(
      async () =>
        (await plane.admin.send({ method: 'GET', path: '/api/v1/namespaces/research/serviceaccounts/default' }))
          .status === 200,
      { what: 'the service account of the namespace' },
    );
    const objects = objectsOf(await renderChart({ templates: ['templates/observe.yaml'], values: ON }));
    for (const body of objects) {
      const path = `/apis/admissionregistration.k8s.io/v1/${body.kind === 'MutatingAdmissionPolicy' ? 'mutatingadmissionpolicies' : 'mutatingadmissionpolicybindings'}`;
      await plane.admin.json({ method: 'POST', path, body });
    }
  });

  afterAll(async () => {
    await plane.stop();
  });

  interface Pod {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly containers: readonly Container[];
      readonly initContainers?: readonly Container[];
      readonly volumes?: readonly { readonly name: string }[];
    };
  }

  interface Container {
    readonly name: string;
    readonly command?: readonly string[];
    readonly args?: readonly string[];
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
    readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    readonly securityContext?: object;
  }

  /** As the API server would store it. */
  function create(
    spec: object = { containers: [MAIN] },
    {
      namespace = 'research',
      ...metadata
    }: { readonly namespace?: string; readonly labels?: object; readonly annotations?: object } = {},
  ): Promise<Pod> {
    const body = { metadata: { name: 'pod', labels: LABELS, ...metadata }, spec };
    return plane.admin.json<Pod>({ method: 'POST', path: `/api/v1/namespaces/${namespace}/pods?dryRun=All`, body });
  }

  async function publish(): Promise<void> {
    const body = {
      metadata: { name: OBSERVE_CONFIG_MAP },
      data: { reportUrls: 'https://operator:9443', reportCa: '-----BEGIN CERTIFICATE-----\nA\n' },
    };
    await plane.admin.json({ method: 'POST', path: `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps`, body });
    await waitFor(async () => (await create()).metadata.annotations?.['training.coxswain.dev/wrapped'] === 'main', {
      what: 'the policy to read its parameters',
    });
  }

  it('before the operator has written the parameters is left as it is', async () => {
    expect((await create()).spec.containers[0]?.command).toEqual(MAIN.command);
    await publish();
  });

  it('has a wrapped command, a token of its own audience, and an init container that meets the restricted standard', async () => {
    const { spec, metadata } = await create();
    const [main] = spec.containers;
    expect(metadata.annotations).toEqual({ 'training.coxswain.dev/wrapped': 'main' });
    expect(main?.command?.slice(0, 2)).toEqual(['/bin/sh', '-c']);
    expect(main?.command?.slice(3)).toEqual(['sh', ...MAIN.command]);
    expect(main?.env).toEqual([
      { name: 'COXSWAIN_REPORT_URLS', value: 'https://operator:9443' },
      { name: 'COXSWAIN_REPORT_CA', value: '-----BEGIN CERTIFICATE-----\nA\n' },
      { name: 'COXSWAIN_TOKEN_FILE', value: OBSERVED_POD.tokenFile },
    ]);
    expect(main?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(
      expect.arrayContaining([OBSERVED_POD.directory, '/var/run/secrets/coxswain-observe']),
    );
    expect(JSON.stringify(spec.volumes)).toContain(`"audience":"${OBSERVE_TOKEN_AUDIENCE}"`);
    expect(spec.initContainers).toMatchObject([
      {
        name: 'coxswain-observe',
        command: ['/usr/local/bin/coxswain-launcher', 'install-observer', OBSERVED_POD.directory],
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { limits: { cpu: '250m', memory: '256Mi' } },
      },
    ]);
  });

  it('keeps what it has: variables, mounts, volumes, init containers, annotations, arguments', async () => {
    const env = [{ name: 'A_1', value: '$(B)' }];
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const { spec, metadata } = await create(
      {
        containers: [
          { ...MAIN, args: ['--last'], env, volumeMounts, securityContext: { runAsNonRoot: true, runAsUser: 7 } },
        ],
        initContainers: [{ name: 'first', image: 'example/init' }],
        volumes: [{ name: 'data', emptyDir: {} }],
      },
      { annotations: { mine: 'kept' } },
    );
    const [main] = spec.containers;
    expect(main).toMatchObject({ args: ['--last'] });
    expect(main?.env?.[0]).toEqual(env[0]);
    expect(main?.volumeMounts?.[0]).toEqual(volumeMounts[0]);
    expect(spec.volumes?.[0]?.name).toBe('data');
    expect(spec.initContainers?.map(({ name }) => name)).toEqual(['coxswain-observe', 'first']);
    expect(spec.initContainers?.[0]?.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 7 });
    expect(metadata.annotations).toMatchObject({ mine: 'kept' });
  });

  it('has the container wrapped that its annotation names', async () => {
    const containers = [{ ...MAIN, name: 'proxy' }, MAIN];
    const { spec } = await create(
      { containers },
      { annotations: { 'training.coxswain.dev/observe-container': 'main' } },
    );
    expect(spec.containers.map(({ command }) => command?.[0])).toEqual(['python', '/bin/sh']);
  });

  it.each<[string, object, object, string]>([
    [
      'has no command',
      { containers: [{ name: 'main', image: 'x', args: ['a'] }] },
      {},
      'container main has no command, ',
    ],
    [
      'names a container that is not there',
      { containers: [MAIN] },
      { 'training.coxswain.dev/observe-container': 'other' },
      'the pod has no container other',
    ],
    [
      'has a variable that a shell drops',
      { containers: [{ ...MAIN, env: [{ name: 'a.b', value: '1' }] }] },
      {},
      'container main has a variable whose name a shell would drop',
    ],
    [
      'takes variables whose names are not in the pod',
      { containers: [{ ...MAIN, envFrom: [{ secretRef: { name: 'keys' } }] }] },
      {},
      'container main has envFrom',
    ],
  ])('that %s is not wrapped, and says why', async (_sentence, spec, annotations, why) => {
    const pod = await create(spec, { annotations });
    expect(pod.metadata.annotations?.['training.coxswain.dev/not-wrapped']).toContain(why);
    const { containers } = spec as { readonly containers: readonly Container[] };
    expect(pod.spec.containers.map(({ command }) => command)).toEqual(containers.map(({ command }) => command));
    expect(pod.spec.initContainers).toBeUndefined();
  });

  it.each<[string, object]>([
    ['without the label', { labels: {} }],
    ['in another namespace', { namespace: 'vision' }],
    ['of a gang', { labels: { ...LABELS, 'training.coxswain.dev/job-uid': 'u' } }],
  ])('%s is left as it is', async (_sentence, metadata) => {
    const pod = await create(undefined, metadata);
    expect(pod.spec.containers[0]?.command).toEqual(MAIN.command);
    expect(pod.metadata.annotations).toBeUndefined();
  });

  it('is admitted as it is if the policy fails', async () => {
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/${OBSERVE_CONFIG_MAP}`;
    await plane.admin.send({
      method: 'PATCH',
      path,
      body: { data: { reportCa: null } },
      contentType: 'application/merge-patch+json',
    });
    await waitFor(async () => (await create()).spec.containers[0]?.command?.[0] === 'python', {
      what: 'the policy to fail on its parameters',
    });
  });
});
