/** The training operator of Kubeflow, which runs PyTorchJobs, beside a control plane. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ControlPlane,
  findBinary,
  freePort,
  LOCAL_IMAGES,
  type ProcessHandle,
  startProcess,
  waitFor,
} from '@coxswain/local-cluster';
import { answers, define, moduleFolder } from './controller-of-others.ts';

const SYSTEM = 'kubeflow';
const SECRET = `/api/v1/namespaces/${SYSTEM}/secrets/training-operator-webhook-cert`;
const WEBHOOK = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
export const PYTORCHJOBS = '/apis/kubeflow.org/v1';

/**
 * Its init container waits for the name of the master in DNS, which local nodes do not have. Here it ends at once: the program gets the address from the test.
 */
const INIT_CONTAINER = `- name: init-pytorch
  image: ${LOCAL_IMAGES.sleeper}
  command: ['true']
`;

/** Starts it with an administrator's rights, for PyTorchJobs alone; its program is to be built before. */
export async function installTrainingOperator(plane: ControlPlane): Promise<ProcessHandle> {
  const { admin } = plane;
  const module = await moduleFolder('training-operator', 'github.com/kubeflow/training-operator');
  await define(plane, join(module, 'manifests/base/crds/kubeflow.org_pytorchjobs.yaml'), `${PYTORCHJOBS}/pytorchjobs`);
  await admin.json({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: SYSTEM } } });
  const body = { metadata: { name: 'training-operator-webhook-cert' } };
  await admin.json({ method: 'POST', path: `/api/v1/namespaces/${SYSTEM}/secrets`, body });
  // It wants to write its certificate into a configuration of this name. No webhook is in it: all that would be checked is written here.
  const name = 'validator.training-operator.kubeflow.org';
  await admin.json({ method: 'POST', path: WEBHOOK, body: { metadata: { name }, webhooks: [] } });
  const folder = join(plane.directory, 'training-operator');
  mkdirSync(join(folder, 'certificates'), { recursive: true });
  writeFileSync(join(folder, 'init.yaml'), INIT_CONTAINER);
  const [probes, webhooks] = [await freePort(), await freePort()];
  // It reads its certificate from a fixed folder, where a kubelet would mount the Secret.
  const place = '/tmp/k8s-webhook-server/serving-certs';
  const script = `mkdir -p ${place} && mount --bind "$1" ${place} && shift && exec "$@"`;
  const program = await startProcess({
    name: 'training-operator',
    command: 'unshare',
    args: [
      ...['--mount', '--map-root-user', 'sh', '-c', script, 'sh', join(folder, 'certificates')],
      await findBinary('training-operator'),
      `--kubeconfig=${plane.adminKubeconfigPath}`,
      '--enable-scheme=pytorchjob',
      '--metrics-bind-address=0',
      `--health-probe-bind-address=127.0.0.1:${probes}`,
      `--webhook-server-port=${webhooks}`,
      `--pytorch-init-container-template-file=${join(folder, 'init.yaml')}`,
    ],
    logPath: join(plane.logsDirectory, 'training-operator.log'),
    ready: { check: () => answers(probes), deadlineMs: 60_000 },
  });
  const data = await waitFor(
    async () => {
      const found = await admin.json<{ readonly data?: Readonly<Record<string, string>> }>({
        method: 'GET',
        path: SECRET,
      });
      return found.data?.['tls.crt'] === undefined ? undefined : found.data;
    },
    { what: 'the training operator to make its certificate' },
  );
  for (const [file, text] of Object.entries(data))
    writeFileSync(join(folder, 'certificates', file), Buffer.from(text, 'base64'));
  await waitFor(() => answers(webhooks), { what: 'the training operator to be ready', deadlineMs: 180_000 });
  return program;
}
