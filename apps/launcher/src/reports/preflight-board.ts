/** Where the pods of a gang exchange preflight measurements, and the key that admits a pod. */
export interface PreflightBoard {
  /** `host:port`. */
  readonly address: string;
  readonly key: string;
}
