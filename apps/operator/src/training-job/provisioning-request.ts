/** Builds the ProvisioningRequest of a gang, as specified in kubernetes/autoscaler, cluster-autoscaler/apis/provisioningrequest, autoscaling.x-k8s.io/v1. */
import { createHash } from 'node:crypto';
import { ANNOTATIONS } from '@coxswain/api-types';
import type { NodeDemand } from '@coxswain/fabric';
import type { KubeObject } from '@coxswain/kube';
import { gangTemplates, type GangTemplate } from '@coxswain/runtime';

/** Contents of a ProvisioningRequest. */
export interface ProvisioningRequest {
  readonly name: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly className: string;
  readonly ranks: number;
  readonly gpusPerPod: number;
  readonly demand: NodeDemand | undefined;
}

/**
 * The request and the templates that it names: one for whole pods, one for a smaller last pod. A template holds what chooses nodes (GPUs, devices, node
 * selector, tolerations) and nothing else of a job, so that its readers learn no more than its size.
 */
export function provisioningRequest(of: ProvisioningRequest): {
  readonly templates: readonly KubeObject[];
  readonly request: KubeObject;
} {
  const { name, metadata, className } = of;
  const sets = gangTemplates(of).map((set) => ({ ...set, template: set.kind === 'last' ? `${name}-last` : name }));
  const request = {
    apiVersion: 'autoscaling.x-k8s.io/v1',
    kind: 'ProvisioningRequest',
    metadata: { ...metadata, name, annotations: { [ANNOTATIONS.nodeRequest]: digestOf(of) } },
    spec: {
      provisioningClassName: className,
      podSets: sets.map(({ template, count }) => ({ podTemplateRef: { name: template }, count })),
    },
  };
  return { templates: sets.map(({ template, spec }) => podTemplate(of, { name: template, spec })), request };
}

/**
 * Whether the request asks for these pods. The server adds defaults to templates, so a digest of what was wanted is compared. A request of an earlier
 * release has none; its class and sizes count.
 */
export function fitsRequest(found: KubeObject, wanted: Omit<ProvisioningRequest, 'metadata'>): boolean {
  const digest = found.metadata.annotations?.[ANNOTATIONS.nodeRequest];
  if (digest !== undefined) return digest === digestOf(wanted);
  return sizesOf(found) === sizesOf(provisioningRequest({ ...wanted, metadata: {} }).request);
}

function sizesOf(request: KubeObject): string {
  const { spec } = request as { readonly spec?: { provisioningClassName?: unknown; podSets?: unknown } };
  const sets: readonly unknown[] = Array.isArray(spec?.podSets) ? spec.podSets : [];
  return JSON.stringify([spec?.provisioningClassName, sets.map((set) => (set as { count?: unknown } | null)?.count)]);
}

/** Whether the template that was found was made like `template`. */
export function isTemplateOf(found: KubeObject, template: KubeObject): boolean {
  const digest = (object: KubeObject): string | undefined => object.metadata.annotations?.[ANNOTATIONS.nodeRequest];
  return digest(found) !== undefined && digest(found) === digest(template);
}

function digestOf({ className, ranks, gpusPerPod, demand }: Omit<ProvisioningRequest, 'name' | 'metadata'>): string {
  return sha256(JSON.stringify({ className, ranks, gpusPerPod, demand }));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function podTemplate(
  { metadata }: ProvisioningRequest,
  { name, spec }: { readonly name: string; readonly spec: GangTemplate['spec'] },
): KubeObject {
  const annotations = { [ANNOTATIONS.nodeRequest]: sha256(JSON.stringify(spec)) };
  return {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { ...metadata, name, annotations },
    template: { spec },
  } as unknown as KubeObject;
}
