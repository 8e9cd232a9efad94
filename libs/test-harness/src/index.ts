export { AdminClient, type AdminAccess, type AdminAnswer, type AdminRequest } from './admin-client.ts';
export {
  BINARY_NAMES,
  BINARY_VERSIONS,
  cacheDirectory,
  cachedBinary,
  findBinary,
  goModuleOf,
  lookUpBinary,
  type BinaryName,
} from './binaries.ts';
export {
  createAuthority,
  loadAuthority,
  type CertificateAuthority,
  type KeyPair,
  type Subject,
} from './certificates.ts';
export { Component } from './component.ts';
export {
  startControlPlane,
  type ControlPlane,
  type ControlPlaneOptions,
  type ServiceAccountAccess,
  type UserAccess,
} from './control-plane.ts';
export { createRunDirectory, type RunDirectory } from './directories.ts';
export { kubeconfig, type KubeconfigUser } from './kubeconfig.ts';
export { withLock, type LockOptions } from './lock.ts';
export { freePort, freePorts } from './ports.ts';
export {
  describeExit,
  lastLines,
  onPath,
  startProcess,
  type ProcessExit,
  type ProcessHandle,
  type ProcessSpec,
} from './processes.ts';
export { GiveUp, waitFor, type WaitOptions } from './wait.ts';
export { startPostgres, type Postgres, type PostgresOptions } from './postgres.ts';
export { findChromium, type Chromium } from './chromium.ts';
export {
  ENGINE_PYTHON_COMPLETE,
  ENGINE_REQUIREMENTS,
  enginePythonDirectory,
  findEnginePython,
  lookUpEnginePython,
} from './engine-python.ts';
export {
  setLostNodes,
  startLocalNodes,
  type LocalNodes,
  type LocalNodesOptions,
  type LostNodes,
} from './local-nodes/local-nodes.ts';
export { listPodProcesses, type PodProcess } from './local-nodes/pod-processes.ts';
export { installChart, renderChart, SYSTEM_NAMESPACE } from './system/chart.ts';
export { findRank, killRank, type RankOfJob, type RankProcess } from './system/kill-rank.ts';
export { LOCAL_IMAGES } from './system/local-images.ts';
export { startSystem, type CoxswainSystem, type OperatorReplica, type SystemOptions } from './system/system.ts';
export {
  startFaultProxy,
  type ActiveFault,
  type FaultProxy,
  type FaultProxyOptions,
  type RecordedRequest,
  type RecordedWrite,
  type WriteMoment,
} from './fault-proxy/fault-proxy.ts';
export {
  errorLine,
  spoilWatch,
  statusBody,
  type Fault,
  type FaultAction,
  type FaultMatch,
  type SeenRequest,
  type Verb,
  type WatchEffect,
  type WatchScript,
} from './fault-proxy/faults.ts';
export { startKwok, type Kwok, type KwokOptions } from './kwok/kwok.ts';
