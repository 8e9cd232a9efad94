/** Kubernetes reads `x-kubernetes-validations` (CEL); zod carries it into the generated schema as metadata. */
export interface CelRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly fieldPath?: string;
}

/** Metadata that adds these rules to the generated schema. */
export const cel = (...rules: readonly CelRule[]): { 'x-kubernetes-validations': readonly CelRule[] } => ({
  'x-kubernetes-validations': rules,
});
