/**
 * The parts of Kubernetes objects that a local node reads or writes, as they are on the wire (instants are RFC 3339
 * texts). The apiserver has validated what we read, so only the fields used here are declared.
 */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
}

/** The fields of a Pod that this node reads and writes. */
export interface Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

/** The fields of a PodSpec that this node supports. */
export interface PodSpec {
  readonly nodeName?: string;
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly serviceAccountName?: string;
  readonly hostname?: string;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
}

/** The fields of a container that this node supports. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string>>;
    readonly requests?: Readonly<Record<string, string>>;
  };
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  /** `Always` on an init container makes it a sidecar. */
  readonly restartPolicy?: 'Always';
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: FieldRef;
    readonly resourceFieldRef?: ResourceFieldRef;
    readonly configMapKeyRef?: KeyRef;
    readonly secretKeyRef?: KeyRef;
  };
}

export interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name: string; readonly optional?: boolean };
}

export interface FieldRef {
  readonly fieldPath: string;
}

export interface ResourceFieldRef {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: string;
}

export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly readOnly?: boolean;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface DownwardItem {
  readonly path: string;
  readonly mode?: number;
  readonly fieldRef?: FieldRef;
  readonly resourceFieldRef?: ResourceFieldRef;
}

/** The kinds of volumes that this node supports. */
export interface Volume {
  readonly name: string;
  readonly configMap?: {
    readonly name: string;
    readonly items?: readonly KeyToPath[];
    readonly defaultMode?: number;
    readonly optional?: boolean;
  };
  readonly secret?: {
    readonly secretName: string;
    readonly items?: readonly KeyToPath[];
    readonly defaultMode?: number;
    readonly optional?: boolean;
  };
  readonly downwardAPI?: { readonly items?: readonly DownwardItem[]; readonly defaultMode?: number };
  readonly projected?: { readonly sources?: readonly ProjectedSource[]; readonly defaultMode?: number };
  readonly emptyDir?: Readonly<Record<string, unknown>>;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly image?: { readonly reference: string };
}

export interface ProjectedSource {
  readonly serviceAccountToken?: {
    readonly audience?: string;
    readonly expirationSeconds?: number;
    readonly path: string;
  };
  readonly configMap?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly secret?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly DownwardItem[] };
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export interface PodStatus {
  readonly phase?: PodPhase;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly startTime?: string;
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly ready: boolean;
  readonly started?: boolean;
  readonly restartCount: number;
  readonly state: StatusState;
  readonly lastState?: StatusState;
}

export interface StatusState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason: string;
    readonly message?: string;
    readonly startedAt: string;
    readonly finishedAt: string;
    readonly containerID?: string;
  };
}

export interface ConfigMap {
  readonly data?: Readonly<Record<string, string>>;
  /** Base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface Secret {
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}
