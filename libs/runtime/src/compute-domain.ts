/**
 * How do the nodes of a gang share memory over NVLink? By a ComputeDomain of NVIDIA's DRA driver, from which each trainer claims a channel. Each gang has its
 * own, named like it: a domain that outlives a node keeps its peers' memory and addresses, so nothing of an earlier one is ever used again.
 * Source: NVIDIA/k8s-dra-driver-gpu, api/nvidia.com/resource/v1beta1/computedomain.go; issues 1418, 1447 and 1479 there.
 */
import { CONTAINERS } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';
import { partsOf } from './template-parts.ts';

export const COMPUTE_DOMAINS = { group: 'resource.nvidia.com', version: 'v1beta1', plural: 'computedomains' } as const;

const CLAIM = 'coxswain-compute-domain';

/** What the driver makes the template of channel claims under. */
function channelTemplateOf(gang: string): string {
  return `${gang}-channel`;
}

/** The domain of that gang; `metadata` is whose it is. With no number of nodes it begins with whichever come. */
export function computeDomainOf(gang: string, metadata: Json): Json {
  return {
    apiVersion: `${COMPUTE_DOMAINS.group}/${COMPUTE_DOMAINS.version}`,
    kind: 'ComputeDomain',
    metadata: { ...metadata, name: gang },
    spec: { numNodes: 0, channel: { resourceClaimTemplate: { name: channelTemplateOf(gang) } } },
  };
}

/** The pod whose trainer has a channel of its gang's domain. */
export function withChannel(pod: Json, gang: string): Json {
  const { spec } = partsOf(pod);
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
