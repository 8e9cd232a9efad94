/** The controller of JobSet beside a control plane, configured as its own installation does. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlPlane, findBinary, freePort, type ProcessHandle, startProcess } from '@coxswain/local-cluster';
import { parseAllDocuments } from 'yaml';
import { answers, define, moduleFolder } from './controller-of-others.ts';

export const JOBSETS = '/apis/jobset.x-k8s.io/v1alpha2';

interface Webhooks {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly webhooks: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[];
}

/** Installs and starts it with an administrator's rights; its program is to be built before. */
export async function installJobSet(plane: ControlPlane): Promise<ProcessHandle> {
  const module = await moduleFolder('jobset', 'sigs.k8s.io/jobset');
  const definition = join(module, 'config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml');
  await define(plane, definition, `${JOBSETS}/jobsets`);
  const port = await freePort();
  const program = await startController(plane, port);
  const file = join(module, 'config/components/webhook/manifests.yaml');
  for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
    const found = document.toJS() as Webhooks;
    await plane.admin.json({
      method: 'POST',
      path: `/apis/admissionregistration.k8s.io/v1/${found.kind.toLowerCase()}s`,
      body: withAddress(found, { port, caPem: plane.caPem }),
    });
  }
  return program;
}

async function startController(plane: ControlPlane, port: number): Promise<ProcessHandle> {
  const folder = join(plane.directory, 'jobset');
  mkdirSync(folder, { recursive: true });
  const { certPem, keyPem } = await plane.issueCertificate({ commonName: 'jobset', hosts: ['127.0.0.1'] });
  writeFileSync(join(folder, 'tls.crt'), certPem);
  writeFileSync(join(folder, 'tls.key'), keyPem, { mode: 0o600 });
  const configuration = {
    apiVersion: 'config.jobset.x-k8s.io/v1alpha1',
    kind: 'Configuration',
    health: { healthProbeBindAddress: '127.0.0.1:0' },
    metrics: { bindAddress: '0' },
    webhook: { host: '127.0.0.1', port, certDir: folder },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
  };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(configuration));
  return startProcess({
    name: 'jobset',
    command: await findBinary('jobset'),
    args: [`--config=${folder}/config.yaml`, `--kubeconfig=${plane.adminKubeconfigPath}`],
    logPath: join(plane.logsDirectory, 'jobset.log'),
    ready: { check: () => answers(port), deadlineMs: 60_000 },
  });
}

function withAddress(
  { metadata, webhooks, ...rest }: Webhooks,
  { port, caPem }: { readonly port: number; readonly caPem: string },
): object {
  return {
    ...rest,
    metadata: { name: `jobset-${metadata.name}` },
    webhooks: webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: {
        url: `https://127.0.0.1:${port}${webhook.clientConfig.service.path}`,
        caBundle: Buffer.from(caPem).toString('base64'),
      },
    })),
  };
}
