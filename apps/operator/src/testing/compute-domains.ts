import { COMPUTE_DOMAINS } from '@coxswain/runtime';
import type { ControlPlane } from '@coxswain/local-cluster';

const { group, version, plural } = COMPUTE_DOMAINS;

/** As much of the definition of NVIDIA's DRA driver as it takes to hold such objects. */
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    names: { plural, singular: 'computedomain', kind: 'ComputeDomain' },
    scope: 'Namespaced',
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/** Has the cluster know ComputeDomains; nobody makes channels of them. */
export async function defineComputeDomains(plane: ControlPlane): Promise<void> {
  await plane.admin.json({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: DEFINITION,
  });
  await plane.kubectl(['wait', '--for=condition=Established', `crd/${DEFINITION.metadata.name}`]);
}
