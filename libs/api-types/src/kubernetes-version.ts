import { MINIMUM_KUBERNETES_MINOR } from './names.ts';

/** The answer of `/version` of an API server. Distributions append to the minor number ("31+"). */
export interface ServerVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/** A sentence for the administrator if the cluster is too old or its version cannot be read; undefined if it is supported. */
export function versionProblem(version: ServerVersion): string | undefined {
  const major = Number.parseInt(version.major, 10);
  const minor = Number.parseInt(version.minor, 10);
  if (Number.isNaN(major) || Number.isNaN(minor)) {
    return `the API server calls itself "${version.gitVersion}", from which no version can be read; Kubernetes 1.${MINIMUM_KUBERNETES_MINOR} or later is needed`;
  }
  if (major > 1 || minor >= MINIMUM_KUBERNETES_MINOR) return undefined;
  return `this cluster runs Kubernetes ${major}.${minor}; Coxswain needs 1.${MINIMUM_KUBERNETES_MINOR} or later (its resources use CEL rules that older servers lack): upgrade the cluster or use another one`;
}
