export { type AdminClient } from './kubernetes/admin-client.ts';
export { createAuthority, type CertificateAuthority, type KeyPair } from './kubernetes/certificates.ts';
export { startControlPlane, type ControlPlane, type ControlPlaneOptions } from './kubernetes/control-plane.ts';
export { defineDrainRequests, drainRequests } from './kubernetes/drain-requests.ts';
export { startKwok, type Kwok } from './kwok/kwok.ts';
export { createDatabaseAt, startPostgres, type Postgres } from './postgres/postgres.ts';
export { serverFiles } from './postgres/server-files.ts';
export { serverUser } from './postgres/server-user.ts';
export { removeOwnFolders } from './process/abandoned-folders.ts';
export { withLock } from './process/lock.ts';
export { freePort } from './process/ports.ts';
export {
  describeExit,
  lastLines,
  onPath,
  startProcess,
  type ProcessExit,
  type ProcessHandle,
  type ProcessSpec,
} from './process/processes.ts';
export { GiveUp, waitFor } from './process/wait.ts';
export {
  BINARY_VERSIONS,
  cacheDirectory,
  cachedBinary,
  findBinary,
  goModuleOf,
  lookUpBinary,
  type BinaryName,
} from './programs/binaries.ts';
export {
  ENGINE_PYTHON_COMPLETE,
  ENGINE_CPU_LOCK,
  ENGINE_LOCK,
  ENGINE_REQUIREMENTS,
  enginePythonDirectory,
  findEnginePython,
  lookUpEnginePython,
  lookUpUpstreamPython,
  torchExtensionsDirectory,
  UPSTREAM_LOCK,
  UPSTREAM_REQUIREMENTS,
  upstreamPythonDirectory,
} from './programs/engine-python.ts';
export { basePythons, CLIENT_PACKAGE, clientPython } from './programs/client-python.ts';
export { installChart, SYSTEM_NAMESPACE } from './system/chart.ts';
export { findRank, killRank } from './system/kill-rank.ts';
export { loseNodes } from './system/lose-nodes.ts';
export { startLocalBucket } from './system/local-bucket.ts';
export { LOCAL_IMAGES } from './system/local-images.ts';
export { listPodProcesses, SANDBOX_PID_FILE } from './system/pod-processes.ts';
export { startSystem, type CoxswainSystem } from './system/system.ts';
