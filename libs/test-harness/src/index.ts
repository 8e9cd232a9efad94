export { AdminClient, type AdminAccess, type AdminAnswer, type AdminRequest } from './admin-client.ts';
export { BINARY_NAMES, BINARY_VERSIONS, cacheDirectory, findBinary, type BinaryName } from './binaries.ts';
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
export { freePort, freePorts } from './ports.ts';
export {
  describeExit,
  lastLines,
  startProcess,
  type ProcessExit,
  type ProcessHandle,
  type ProcessSpec,
} from './processes.ts';
export { GiveUp, waitFor, type WaitOptions } from './wait.ts';
export { startPostgres, type Postgres, type PostgresOptions } from './postgres.ts';
