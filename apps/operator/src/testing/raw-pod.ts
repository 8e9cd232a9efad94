/** As much of a pod as the tests look at. */
export interface RawPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly finalizers?: readonly string[];
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[];
  };
  readonly status: { readonly phase: string };
}
