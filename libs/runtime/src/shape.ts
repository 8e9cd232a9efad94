/**
 * Checks that a template has the shapes of Kubernetes. Fields of another shape could not be merged with the pod of the operator,
 * and would be lost without a message.
 */
import { isRecord, type Json, list, record } from './json.ts';
import type { Problem } from './operator-fields.ts';
import { templateParts } from './template-parts.ts';

const OBJECT = 'it must be an object';
const LIST = 'it must be a list of objects';

/** Every field that podWithRuntime reads and that has the wrong shape; null counts as absent. */
export function findMisshapenFields(template: Json): readonly Problem[] {
  const { metadata, spec, trainer, beside, initContainers } = templateParts(template);
  return [
    ...wrong(template, '', { metadata: OBJECT, spec: OBJECT }),
    ...wrong(metadata, 'metadata.', { labels: OBJECT, annotations: OBJECT }),
    ...wrong(spec, 'spec.', {
      nodeSelector: OBJECT,
      securityContext: OBJECT,
      containers: LIST,
      initContainers: LIST,
      volumes: LIST,
      tolerations: LIST,
      resourceClaims: LIST,
    }),
    ...[trainer, ...beside, ...initContainers].flatMap((container) => {
      const at = `spec container ${String(container['name'])}: `;
      return [
        ...wrong(container, at, { env: LIST, volumeMounts: LIST, resources: OBJECT, securityContext: OBJECT }),
        ...wrong(record(container['resources']), `${at}resources.`, {
          limits: OBJECT,
          requests: OBJECT,
          claims: LIST,
        }),
      ];
    }),
  ];
}

function wrong(
  value: Json,
  at: string,
  shapes: Readonly<Record<string, typeof OBJECT | typeof LIST>>,
): readonly Problem[] {
  return Object.entries(shapes).flatMap(([key, why]) => {
    const field = value[key];
    if (field === undefined || field === null) return [];
    const isRight = why === OBJECT ? isRecord(field) : Array.isArray(field) && list(field).length === field.length;
    return isRight ? [] : [{ field: `${at}${key}`, why }];
  });
}
