import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AdminClient } from './admin-client.ts';
import { findBinary, type BinaryName } from '../programs/binaries.ts';
import type { KeyPair, Subject } from './certificates.ts';
import { Component } from '../process/component.ts';
import {
  apiserverFlags,
  AUDIT_POLICY,
  controllerManagerFlags,
  DEFAULT_CLIENT_QPS,
  etcdFlags,
  schedulerConfig,
  schedulerFlags,
  type ControlPlaneFacts,
} from './control-plane-flags.ts';
import { createPki, type ControlPlanePki } from './control-plane-pki.ts';
import { createRunDirectory, persistentDirectory, type RunDirectory } from '../process/directories.ts';
import { kubeconfig } from './kubeconfig.ts';
import { freePorts, requireFreePort } from '../process/ports.ts';
import { onPath } from '../process/processes.ts';
import { keepTokenFresh } from './service-account-token.ts';
import { waitFor } from '../process/wait.ts';

/** What a control plane may differ in. Everything has a default that suits a test. */
export interface ControlPlaneOptions {
  /** Kept across stops and starts, together with its ports; a temporary one that goes with the plane unless given. */
  readonly directory?: string;
  /** Whether data survive a crash of the machine, which costs a disk write per request; by default only where a directory was given. */
  readonly isDurable?: boolean;
  /** Record every request's metadata at `auditLogPath`. Off unless asked: it costs a write per request. */
  readonly audit?: boolean;
  /** Leave out what a test does not need: each costs about a second of processor time. Both run by default. */
  readonly scheduler?: boolean;
  readonly controllerManager?: boolean;
  /** Requests per second that scheduler and controller-manager allow themselves; 1000 by default. */
  readonly clientQps?: number;
  readonly extraApiserverFlags?: readonly string[];
  readonly extraControllerManagerFlags?: readonly string[];
}

/** A service account and, optionally, another address to reach the apiserver under (a proxy that causes faults). */
export interface ServiceAccountAccess {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly apiserverUrl?: string;
  /** 3600 by default; the apiserver refuses less than 600. */
  readonly tokenLifetimeSeconds?: number;
}

/** A user known by a client certificate, such as a node's. */
export interface UserAccess {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly apiserverUrl?: string;
}

/** A running etcd and apiserver, usually with scheduler and controller-manager. */
export interface ControlPlane {
  readonly url: string;
  /** Verifies the apiserver's certificate. */
  readonly caPem: string;
  /** Verifies the certificate that the apiserver shows when it asks a kubelet for logs. */
  readonly kubeletClientCaPem: string;
  readonly directory: string;
  readonly logsDirectory: string;
  readonly adminKubeconfigPath: string;
  readonly auditLogPath: string;
  readonly components: {
    readonly etcd: Component;
    readonly apiserver: Component;
    readonly scheduler: Component;
    readonly controllerManager: Component;
  };
  /** Requests as administrator. */
  readonly admin: AdminClient;
  /** Runs kubectl as administrator and gives its output; rejects with its words when it fails. */
  kubectl(args: readonly string[], options?: { readonly input?: string }): Promise<string>;
  /**
   * The path of a kubeconfig that speaks as a service account (made if it does not exist yet). Its token lies in a file
   * that is rewritten well before the token expires, for as long as the plane runs: the part of a kubelet.
   */
  kubeconfigFor(access: ServiceAccountAccess): Promise<string>;
  /** The path of a file with a token of a service account for an audience of its own, renewed like the one above. */
  tokenFileFor(access: {
    readonly namespace: string;
    readonly serviceAccount: string;
    readonly audience: string;
  }): Promise<string>;
  /** The path of a kubeconfig that speaks as a user with a client certificate. */
  kubeconfigForUser(access: UserAccess): Promise<string>;
  /** A certificate signed by the cluster's authority. */
  issueCertificate(subject: Subject): Promise<KeyPair>;
  /** Ends the apiserver and starts it again on the same port. */
  restartApiserver(): Promise<void>;
  /** Ends everything and removes the directory unless it was given; `keepLogs` leaves the logs behind. */
  stop(options?: { readonly keepLogs?: boolean }): Promise<void>;
}

const READY_MS = 120_000;
/** It holds open watches until their own end, which nobody here waits for; what it acknowledged is in etcd. */
const APISERVER_GRACE_MS = 1_000;

/** Starts a control plane on loopback and waits until pods can be created in the namespace `default`. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const directory =
    options.directory === undefined ? createRunDirectory('control-plane') : persistentDirectory(options.directory);
  const plane = await LocalControlPlane.prepare(directory, options);
  try {
    await plane.start();
    return plane;
  } catch (error) {
    await plane.stop({ keepLogs: true });
    throw new Error(`the control plane did not start; its logs are in ${directory.logs}`, { cause: error });
  }
}

class LocalControlPlane implements ControlPlane {
  readonly url: string;
  readonly caPem: string;
  readonly kubeletClientCaPem: string;
  readonly directory: string;
  readonly logsDirectory: string;
  readonly adminKubeconfigPath: string;
  readonly auditLogPath: string;
  readonly components: ControlPlane['components'];
  readonly admin: AdminClient;
  readonly #options: ControlPlaneOptions;
  readonly #runDirectory: RunDirectory;
  readonly #pki: ControlPlanePki;
  readonly #renewals: (() => void)[] = [];

  constructor(parts: { facts: ControlPlaneFacts; directory: RunDirectory; options: ControlPlaneOptions }) {
    const { facts, directory, options } = parts;
    this.#options = options;
    this.#runDirectory = directory;
    this.#pki = facts.pki;
    this.url = `https://127.0.0.1:${facts.ports.apiserver}`;
    this.caPem = facts.pki.authority.certPem;
    this.kubeletClientCaPem = facts.pki.kubeletClientCaPem;
    this.directory = directory.path;
    this.logsDirectory = directory.logs;
    this.auditLogPath = join(directory.logs, 'audit.log');
    this.adminKubeconfigPath = this.#certificateKubeconfig('admin');
    this.admin = new AdminClient({ url: this.url, caPem: this.caPem, ...this.#pair('admin') });
    this.components = componentsOf(facts, { options, logs: directory.logs, admin: this.admin });
    const scheduler = this.#certificateKubeconfig('scheduler');
    writeFileSync(facts.schedulerConfigPath, schedulerConfig(scheduler, facts.clientQps));
    this.#certificateKubeconfig('controller-manager');
  }

  static async prepare(directory: RunDirectory, options: ControlPlaneOptions): Promise<LocalControlPlane> {
    const file = (name: string): string => join(directory.data, name);
    const policyPath = file('audit-policy.json');
    writeFileSync(policyPath, AUDIT_POLICY);
    const facts: ControlPlaneFacts = {
      pki: await createPki(file('pki')),
      dataDirectory: directory.data,
      ports: await portsKeptIn(file('ports.json')),
      clientQps: options.clientQps ?? DEFAULT_CLIENT_QPS,
      schedulerConfigPath: file('scheduler.json'),
      controllerManagerKubeconfigPath: file('controller-manager.kubeconfig'),
      audit: options.audit === true ? { policyPath, logPath: join(directory.logs, 'audit.log') } : undefined,
      durable: options.isDurable ?? options.directory !== undefined,
    };
    return new LocalControlPlane({ facts, directory, options });
  }

  async start(): Promise<void> {
    const { etcd, apiserver, scheduler, controllerManager } = this.components;
    await Promise.all([etcd.start(), apiserver.start()]);
    await Promise.all([
      this.#options.scheduler === false ? undefined : scheduler.start(),
      this.#options.controllerManager === false ? undefined : controllerManager.start(),
    ]);
    await this.#podsCanBeCreated();
  }

  kubectl(args: readonly string[], options: { readonly input?: string } = {}): Promise<string> {
    return runKubectl([`--kubeconfig=${this.adminKubeconfigPath}`, `--cache-dir=${this.#file('kubectl')}`, ...args], {
      ...options,
      logName: args.join(' '),
    });
  }

  async kubeconfigFor(access: ServiceAccountAccess): Promise<string> {
    const tokenFile = await this.#keepToken(access);
    const path = tokenFile.replace(/\.token$/, '.kubeconfig');
    writeFileSync(path, kubeconfig(access.apiserverUrl ?? this.url, this.caPem, { tokenFile }), { mode: 0o600 });
    return path;
  }

  tokenFileFor(access: {
    readonly namespace: string;
    readonly serviceAccount: string;
    readonly audience: string;
  }): Promise<string> {
    return this.#keepToken(access);
  }

  async #keepToken(access: ServiceAccountAccess & { readonly audience?: string }): Promise<string> {
    const { namespace, serviceAccount, audience } = access;
    await this.#ensure(`/api/v1/namespaces`, { kind: 'Namespace', name: namespace });
    await this.#ensure(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
      kind: 'ServiceAccount',
      name: serviceAccount,
    });
    mkdirSync(this.#file('access'), { recursive: true });
    const path = join(this.#file('access'), `${namespace}-${serviceAccount}-${this.#renewals.length}.token`);
    const lifetimeSeconds = access.tokenLifetimeSeconds ?? 3600;
    this.#renewals.push(
      await keepTokenFresh(this.admin, {
        namespace,
        serviceAccount,
        path,
        lifetimeSeconds,
        ...(audience === undefined ? {} : { audience }),
      }),
    );
    return path;
  }

  async kubeconfigForUser(access: UserAccess): Promise<string> {
    const pair = await this.issueCertificate({ commonName: access.user, organizations: access.groups ?? [] });
    mkdirSync(this.#file('access'), { recursive: true });
    const path = join(this.#file('access'), `${access.user.replaceAll(/[^\w.-]/g, '-')}.kubeconfig`);
    writeFileSync(path, kubeconfig(access.apiserverUrl ?? this.url, this.caPem, pair), { mode: 0o600 });
    return path;
  }

  issueCertificate(subject: Subject): Promise<KeyPair> {
    return this.#pki.authority.issue(subject);
  }

  restartApiserver(): Promise<void> {
    return this.components.apiserver.restart({ graceMs: APISERVER_GRACE_MS });
  }

  async stop(options: { readonly keepLogs?: boolean } = {}): Promise<void> {
    for (const end of this.#renewals.splice(0)) {
      end();
    }
    const { etcd, apiserver, scheduler, controllerManager } = this.components;
    // What is thrown away afterwards may be killed; kept data deserve an orderly end, writers before the store.
    const graceMs = this.#options.directory === undefined ? 0 : 10_000;
    await Promise.all([scheduler.stop({ graceMs }), controllerManager.stop({ graceMs })]);
    await apiserver.stop({ graceMs: Math.min(graceMs, APISERVER_GRACE_MS) });
    await etcd.stop({ graceMs });
    this.admin.close();
    this.#runDirectory.remove(options);
  }

  /** Admission wants a service account in the namespace, and the controller-manager makes it. */
  async #podsCanBeCreated(): Promise<void> {
    if (this.#options.controllerManager !== false) {
      const path = '/api/v1/namespaces/default/serviceaccounts/default';
      await waitFor(async () => (await this.admin.send({ method: 'GET', path })).status === 200, {
        deadlineMs: READY_MS,
        what: 'the controller-manager to make the default service account',
      });
    }
  }

  async #ensure(path: string, { kind, name }: { kind: string; name: string }): Promise<void> {
    const answer = await this.admin.send({
      method: 'POST',
      path,
      body: { apiVersion: 'v1', kind, metadata: { name } },
    });
    if (answer.status >= 300 && answer.status !== 409) {
      throw new Error(`could not create ${kind} ${name}: ${answer.body}`);
    }
  }

  #file(name: string): string {
    return join(this.#runDirectory.data, name);
  }

  #pair(name: string): KeyPair {
    return {
      certPem: readFileSync(this.#pki.file(`${name}.crt`), 'utf8'),
      keyPem: readFileSync(this.#pki.file(`${name}.key`), 'utf8'),
    };
  }

  #certificateKubeconfig(name: string): string {
    const path = this.#file(`${name}.kubeconfig`);
    writeFileSync(path, kubeconfig(this.url, this.caPem, this.#pair(name)), { mode: 0o600 });
    return path;
  }
}

function componentsOf(
  facts: ControlPlaneFacts,
  context: { options: ControlPlaneOptions; logs: string; admin: AdminClient },
): ControlPlane['components'] {
  const { options, logs, admin } = context;
  const component = (name: BinaryName, flags: readonly string[], ready?: () => Promise<boolean>): Component =>
    new Component(name, async () => ({
      name,
      command: await findBinary(name),
      args: flags,
      logPath: join(logs, `${name}.log`),
      ...(ready === undefined ? {} : { ready: { check: ready, deadlineMs: READY_MS } }),
    }));
  const isReady = async (): Promise<boolean> => (await admin.send({ method: 'GET', path: '/readyz' })).status === 200;
  return {
    etcd: component('etcd', etcdFlags(facts)),
    apiserver: component('kube-apiserver', [...apiserverFlags(facts), ...(options.extraApiserverFlags ?? [])], isReady),
    scheduler: component('kube-scheduler', schedulerFlags(facts)),
    controllerManager: component('kube-controller-manager', [
      ...controllerManagerFlags(facts),
      ...(options.extraControllerManagerFlags ?? []),
    ]),
  };
}

async function portsKeptIn(path: string): Promise<ControlPlaneFacts['ports']> {
  if (existsSync(path)) {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as ControlPlaneFacts['ports'];
    const advice = `Start it later, or remove ${dirname(dirname(path))} to begin with new data.`;
    for (const port of Object.values(kept)) await requireFreePort(port, { use: 'the control plane', advice });
    return kept;
  }
  const [etcd = 0, etcdPeer = 0, apiserver = 0] = await freePorts(3);
  const ports = { etcd, etcdPeer, apiserver };
  writeFileSync(path, JSON.stringify(ports));
  return ports;
}

async function runKubectl(
  args: readonly string[],
  options: { readonly input?: string; readonly logName: string },
): Promise<string> {
  const path = await findBinary('kubectl').catch((error: unknown) => {
    // Any nearby version will do for looking at things; only set-up insists.
    const other = onPath('kubectl');
    if (other === undefined) {
      throw error;
    }
    return other;
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(path, [...args], { maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
    if (error === null) {
      resolve(stdout);
    } else {
      reject(new Error(`kubectl ${options.logName}: ${stderr.trim()}`, { cause: error }));
    }
  });
  child.stdin?.on('error', () => undefined); // It may end without reading its input; its exit code tells.
  child.stdin?.end(options.input ?? '');
  return promise;
}
