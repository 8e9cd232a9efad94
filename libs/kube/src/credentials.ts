import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';

import type { Clock } from './clock.ts';
import { KubeApiError } from './errors.ts';

/** Address of the API server and credentials for it, from one reading of the files. */
export interface Credentials {
  /** https://host:port without a trailing slash. */
  readonly server: string;
  readonly ca?: Buffer | string;
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
  readonly servername?: string;
  readonly skipTlsVerify: boolean;
  /** Authorization and impersonation headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Provides the current credentials. After a 401, `invalidate` makes the next call read all files again. */
export interface CredentialSource {
  current(): Promise<Credentials>;
  invalidate(): void;
}

/** Which configuration to load: a kubeconfig file, or the usual places (KUBECONFIG, ~/.kube/config, the pod's service account). */
export interface KubeconfigChoice {
  readonly kubeconfigPath?: string;
  readonly context?: string;
}

/**
 * Credentials from a kubeconfig or from inside a pod. Files are read again when their modification time changes (checked at most
 * once a second), every 60 s in any case, and at once after `invalidate`. When a file is missing or broken for a moment the last good
 * reading stays in use; without one the request fails as retryable.
 */
export function fileCredentials(choice: KubeconfigChoice, clock: Pick<Clock, 'monotonicMs'>): CredentialSource {
  let last: { readonly reading: Reading; readonly readAtMs: number; checkedAtMs: number } | undefined;
  let invalid = false;
  let loading: Promise<Credentials> | undefined;

  const isFresh = async (): Promise<boolean> => {
    if (last === undefined || invalid) return false;
    const nowMs = clock.monotonicMs();
    if (nowMs - last.readAtMs > REREAD_MS) return false;
    if (nowMs - last.checkedAtMs < CHECK_MS) return true;
    last.checkedAtMs = nowMs;
    return (await fingerprint(last.reading.files)) === last.reading.fingerprint;
  };

  const load = async (): Promise<Credentials> => {
    if (last !== undefined && (await isFresh())) return last.reading.credentials;
    try {
      const reading = await readCredentials(choice);
      const nowMs = clock.monotonicMs();
      last = { reading, readAtMs: nowMs, checkedAtMs: nowMs };
      invalid = false;
      return reading.credentials;
    } catch (cause) {
      if (last !== undefined) return last.reading.credentials;
      throw new KubeApiError({
        status: 0,
        reason: 'CredentialsUnavailable',
        message: `no Kubernetes credentials: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause,
      });
    }
  };

  return {
    current: () => (loading ??= load().finally(() => (loading = undefined))),
    invalidate: () => {
      invalid = true;
    },
  };
}

const REREAD_MS = 60_000;
const CHECK_MS = 1_000;

interface Reading {
  readonly credentials: Credentials;
  readonly files: readonly string[];
  readonly fingerprint: string;
}

async function readCredentials(choice: KubeconfigChoice): Promise<Reading> {
  // Loaded here because the package carries the models of the whole API: a program that never connects should not pay for it.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (choice.kubeconfigPath === undefined) config.loadFromDefault();
  else config.loadFromFile(choice.kubeconfigPath);
  if (choice.context !== undefined) config.setCurrentContext(choice.context);

  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (cluster === null) {
    throw new Error(
      `the Kubernetes configuration has no cluster for its current context "${config.getCurrentContext()}": set one with the context option or \`kubectl config use-context\``,
    );
  }
  const provided = user?.authProvider as { readonly config?: { readonly tokenFile?: string } } | undefined;
  const tokenFile = provided?.config?.tokenFile ?? (await tokenFileOf(choice.kubeconfigPath, user?.name));
  const files = [choice.kubeconfigPath, cluster.caFile, user?.certFile, user?.keyFile, tokenFile].filter(
    (file) => file !== undefined && file !== '',
  ) as string[];
  // Taken before reading, so that a file that changes meanwhile counts as changed at the next check.
  const print = await fingerprint(files);

  const options: SecurityOptions = { headers: {} };
  await config.applyToHTTPSOptions(options as never);
  const headers = { ...options.headers };
  if (tokenFile !== undefined) headers['Authorization'] = `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
  else if (options.auth !== undefined)
    headers['Authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return {
    files,
    fingerprint: print,
    credentials: {
      server: cluster.server.replace(/\/+$/, ''),
      headers,
      skipTlsVerify: cluster.skipTLSVerify === true,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      ...(options.cert === undefined ? {} : { cert: options.cert }),
      ...(options.key === undefined ? {} : { key: options.key }),
      ...(options.servername === undefined ? {} : { servername: options.servername }),
    },
  };
}

/** What client-node writes into request options. */
interface SecurityOptions {
  headers: Record<string, string>;
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
  servername?: string;
  auth?: string;
}

/** `users[].user.tokenFile` is part of the kubeconfig format, but client-node 2.0.1 drops it. */
async function tokenFileOf(
  kubeconfigPath: string | undefined,
  userName: string | undefined,
): Promise<string | undefined> {
  if (kubeconfigPath === undefined || userName === undefined) return undefined;
  const { loadYaml } = await import('@kubernetes/client-node');
  const raw = loadYaml<{ users?: readonly { name?: string; user?: { tokenFile?: string } }[] }>(
    await readFile(kubeconfigPath, 'utf8'),
  );
  const file = raw.users?.find((entry) => entry.name === userName)?.user?.tokenFile;
  if (file === undefined || file === '') return undefined;
  return isAbsolute(file) ? file : join(dirname(kubeconfigPath), file);
}

async function fingerprint(files: readonly string[]): Promise<string> {
  const parts = await Promise.all(
    files.map((file) =>
      stat(file).then(
        (facts) => `${file}:${facts.mtimeMs}:${facts.size}:${facts.ino}`,
        () => `${file}:absent`,
      ),
    ),
  );
  return parts.join('|');
}
