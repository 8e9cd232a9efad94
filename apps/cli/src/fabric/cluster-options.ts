/** The source of nodes and pods: files, or the cluster of a kubeconfig. */
export interface ClusterOptions {
  readonly nodes?: string;
  readonly busy?: string;
  readonly slices?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Objects of a cluster, as the API server or a file lists them. */
export interface ClusterObjects {
  readonly nodes: readonly object[];
  readonly pods: readonly object[];
  readonly slices: readonly object[];
}
