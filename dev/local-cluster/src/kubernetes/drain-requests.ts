import { DRAIN_REQUESTS } from '@coxswain/api-types';
import type { ControlPlane } from './control-plane.ts';

const { group, version, plural } = DRAIN_REQUESTS;

/** As NVSentinel's page on drain plugins describes it: the two fields that a plugin needs, and conditions behind the status subresource. */
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    names: { plural, singular: 'drainrequest', kind: 'DrainRequest' },
    scope: 'Namespaced',
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  nodeName: { type: 'string' },
                  podsToDrain: {
                    type: 'object',
                    additionalProperties: { type: 'array', items: { type: 'string' } },
                  },
                },
              },
              status: {
                type: 'object',
                properties: {
                  conditions: {
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'],
                      properties: {
                        lastTransitionTime: { type: 'string', format: 'date-time' },
                        message: { type: 'string', maxLength: 32_768 },
                        reason: { type: 'string', pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' },
                        status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
                        type: { type: 'string' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** Has the cluster know DrainRequests. No node-drainer runs. */
export async function defineDrainRequests(plane: ControlPlane): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await plane.admin.json({ method: 'POST', path, body: DEFINITION });
  await plane.kubectl(['wait', '--for=condition=Established', `crd/${DEFINITION.metadata.name}`]);
}

/** What NVSentinel's node-drainer does with them: it makes one and reads its conditions. */
export function drainRequests(
  { admin }: ControlPlane,
  namespace: string,
): {
  readonly create: (name: string, spec: object) => Promise<unknown>;
  /** Such as `DrainComplete=True`. */
  readonly states: (name: string) => Promise<readonly string[]>;
} {
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
  return {
    create: (name, spec) =>
      admin.json({
        method: 'POST',
        path,
        body: { apiVersion: `${group}/${version}`, kind: 'DrainRequest', metadata: { name }, spec },
      }),
    states: async (name) => {
      const { status } = await admin.json<{
        readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
      }>({ method: 'GET', path: `${path}/${name}` });
      return (status?.conditions ?? []).map((one) => `${one.type}=${one.status}`);
    },
  };
}
