/** Which reports of kubelets and of kube-scheduler are about the job or its namespace, and not about a node? */
import type { ObservedPod } from '../observation/observed.ts';

/**
 * A missing or unusable object, an image that does not exist, a denied request. Every other node would answer the same. Sources: kubelet
 * (`MountVolume.SetUp failed`, `CreateContainerConfigError`, `ErrImagePull`), kube-scheduler (VolumeBinding), containerd, runc.
 */
const BLAMELESS: readonly RegExp[] = [
  /persistentvolumeclaim "[^"]+" (?:not found|is being deleted)/i,
  /unbound immediate PersistentVolumeClaims/i,
  /(?:secret|configmap|serviceaccount)s? "[^"]+" (?:is )?not found/i,
  /references non-existent (?:secret|config) key/i,
  /couldn't find key \S+ in (?:Secret|ConfigMap)/i,
  /\b(?:manifest unknown|manifest for \S+ not found|repository does not exist|pull access denied)/i,
  /(?:pull|resolve|unpack).*: not found\b/i,
  /insufficient_scope: authorization failed|unauthorized: authentication required|no basic auth credentials/i,
  /(?:failed to fetch|fetch) (?:anonymous|oauth) token.*40[13]/i,
  /couldn't parse image name|invalid reference format/i,
  /exceeded quota: /i,
  /admission webhook "[^"]*" denied the request|AdmissionPolicy '[^']*'.* denied request/,
  /executable file not found in \$PATH/,
];

/** Reasons of waiting containers that the pod's spec causes on every node. */
const BLAMELESS_REASONS: readonly string[] = ['CreateContainerConfigError', 'InvalidImageName'];

/** Whether what the pod waits for is missing on every node. */
export function waitsForNoNode({ containerWaiting, schedulingMessage }: ObservedPod): boolean {
  if (containerWaiting !== undefined) {
    return BLAMELESS_REASONS.includes(containerWaiting.reason) || isBlameless(containerWaiting.message);
  }
  return schedulingMessage !== undefined && isBlameless(schedulingMessage);
}

/** Whether the sentence of a kubelet or scheduler blames no node. */
export function isBlameless(sentence: string): boolean {
  return BLAMELESS.some((pattern) => pattern.test(sentence));
}

/** How a kubelet begins when a pod went beyond its own limit. Under pressure of a node it writes *The node was low on resource*. */
const OWN_LIMIT: readonly RegExp[] = [
  /^Usage of EmptyDir volume ".*" exceeds the limit "/,
  /^Pod ephemeral local storage usage exceeds the total limit of containers /,
  /^Container .+ exceeded its local ephemeral storage limit "/,
];

/** Whether the kubelet evicted the pod because of the pod's own limit of scratch space. */
export function exceededOwnLimit({ statusReason, statusMessage = '' }: ObservedPod): boolean {
  return statusReason === 'Evicted' && OWN_LIMIT.some((pattern) => pattern.test(statusMessage));
}
