/**
 * Gives the nodes of a gang shared memory over NVLink: a ComputeDomain of NVIDIA’s DRA driver, from which each trainer claims a
 * channel. Each gang has its own, named like the gang. A domain that outlives a node keeps the memory and the addresses of its
 * peers, so no domain is ever reused.
 * Source: NVIDIA/k8s-dra-driver-gpu, api/nvidia.com/resource/v1beta1/computedomain.go; issues 1418, 1447 and 1479 there.
 */
import { CONTAINERS } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';
import { templateParts } from './template-parts.ts';

/** The resource of NVIDIA's DRA driver. */
export const COMPUTE_DOMAINS = { group: 'resource.nvidia.com', version: 'v1beta1', plural: 'computedomains' } as const;

const CLAIM = 'coxswain-compute-domain';

/** Name of the claim template that the driver creates. */
function channelTemplateOf(gang: string): string {
  return `${gang}-channel`;
}

/** The ComputeDomain of a gang; `metadata` has its owner and labels. With 0 nodes it starts with whichever nodes join. */
export function computeDomainOf(gang: string, metadata: Json): Json {
  return {
    apiVersion: `${COMPUTE_DOMAINS.group}/${COMPUTE_DOMAINS.version}`,
    kind: 'ComputeDomain',
    metadata: { ...metadata, name: gang },
    spec: { numNodes: 0, channel: { resourceClaimTemplate: { name: channelTemplateOf(gang) } } },
  };
}

/** The pod whose trainer claims a channel of its gang’s domain. */
export function withChannel(pod: Json, gang: string): Json {
  const { spec } = templateParts(pod);
  const claim = { name: CLAIM, resourceClaimTemplateName: channelTemplateOf(gang) };
  return {
    ...pod,
    spec: {
      ...spec,
      resourceClaims: [...list(spec['resourceClaims']), claim],
      containers: list(spec['containers']).map((container) =>
        container['name'] === CONTAINERS.trainer ? claiming(container) : container,
      ),
    },
  };
}

function claiming(container: Json): Json {
  const resources = record(container['resources']);
  return { ...container, resources: { ...resources, claims: [...list(resources['claims']), { name: CLAIM }] } };
}
