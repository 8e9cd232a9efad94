import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createAuthority,
  createSigningKey,
  loadAuthority,
  type CertificateAuthority,
  type Subject,
} from './certificates.ts';

/** The first address of the service range; in-cluster clients reach the apiserver under it. */
const KUBERNETES_SERVICE_IP = '10.0.0.1';
const SERVER_HOSTS = [
  'localhost',
  '127.0.0.1',
  KUBERNETES_SERVICE_IP,
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

/** Everything signed for one control plane; `file('x.crt')` is the path of a file among it. */
export interface ControlPlanePki {
  readonly authority: CertificateAuthority;
  /** The authority of the certificate that the apiserver shows to kubelets. */
  readonly kubeletClientCaPem: string;
  file(name: string): string;
}

/**
 * Three authorities: one for the apiserver and its clients, one for etcd, one for the apiserver as a client of
 * kubelets; so that a certificate for one of these is worth nothing at the others. Reused when `directory` holds them.
 */
export async function createPki(directory: string): Promise<ControlPlanePki> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = (name: string): string => join(directory, name);
  if (!existsSync(file('complete'))) {
    await writePki(file);
    writeFileSync(file('complete'), '');
  }
  const authority = await loadAuthority({
    certPem: readFileSync(file('ca.crt'), 'utf8'),
    keyPem: readFileSync(file('ca.key'), 'utf8'),
  });
  return { authority, kubeletClientCaPem: readFileSync(file('kubelet-client-ca.crt'), 'utf8'), file };
}

async function writePki(file: (name: string) => string): Promise<void> {
  const write = (name: string, text: string): void => {
    writeFileSync(file(name), text, { mode: 0o600 });
    chmodSync(file(name), 0o600);
  };
  const writePair = async (name: string, authority: CertificateAuthority, subject: Subject): Promise<void> => {
    const pair = await authority.issue(subject);
    write(`${name}.crt`, pair.certPem);
    write(`${name}.key`, pair.keyPem);
  };

  const [cluster, etcd, kubeletClient, tokens] = await Promise.all([
    createAuthority('coxswain local cluster'),
    createAuthority('coxswain local etcd'),
    createAuthority('coxswain local kubelet clients'),
    createSigningKey(),
  ]);
  write('ca.crt', cluster.certPem);
  write('ca.key', cluster.keyPem);
  write('etcd-ca.crt', etcd.certPem);
  write('kubelet-client-ca.crt', kubeletClient.certPem);
  write('service-account.key', tokens.privatePem);
  write('service-account.pub', tokens.publicPem);
  await Promise.all([
    writePair('apiserver', cluster, { commonName: 'kube-apiserver', hosts: SERVER_HOSTS }),
    writePair('admin', cluster, { commonName: 'admin', organizations: ['system:masters'] }),
    writePair('scheduler', cluster, { commonName: 'system:kube-scheduler' }),
    writePair('controller-manager', cluster, { commonName: 'system:kube-controller-manager' }),
    writePair('etcd', etcd, { commonName: 'etcd', hosts: ['localhost', '127.0.0.1'] }),
    writePair('etcd-client', etcd, { commonName: 'kube-apiserver' }),
    writePair('kubelet-client', kubeletClient, { commonName: 'kube-apiserver' }),
  ]);
}
