import {
  API_GROUP,
  API_VERSION,
  CheckpointResourceSpec,
  CheckpointResourceStatus,
  ClusterTrainingRuntimeSpec,
  FABRIC_NAME,
  FabricSpec,
  FabricStatus,
  PlacementSpec,
  SERVED_API_VERSIONS,
  TrainingJobSpec,
  TrainingJobStatus,
  TrainingRuntimeSpec,
} from '@coxswain/api-types';
import { Document, type YAMLMap, type YAMLSeq } from 'yaml';
import { z } from 'zod';

/** A node of an OpenAPI v3 schema, as the API server wants it in a CustomResourceDefinition. */
type Schema = { [key: string]: unknown };

interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'date';
  readonly jsonPath: string;
  readonly priority?: number;
  readonly description?: string;
}

interface ResourceDefinition {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  /** One for the whole cluster, rather than for a namespace. */
  readonly isClusterScoped?: true;
  readonly spec: z.ZodType;
  readonly status?: z.ZodType;
  readonly columns: readonly PrinterColumn[];
  /** The only name that an object of the kind may have; absent: any. */
  readonly onlyName?: string;
}

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const RESOURCES: readonly ResourceDefinition[] = [
  {
    kind: 'TrainingJob',
    plural: 'trainingjobs',
    shortNames: ['tjob'],
    description: 'TrainingJob asks for a model to be trained: model, data, engine, layout and policies.',
    spec: TrainingJobSpec,
    status: TrainingJobStatus,
    columns: [
      { name: 'State', type: 'string', jsonPath: '.status.state' },
      { name: 'Attempt', type: 'integer', jsonPath: '.status.epoch', description: 'Number of the current attempt.' },
      { name: 'Step', type: 'integer', jsonPath: '.status.progress.step' },
      { name: 'Of', type: 'integer', jsonPath: '.status.progress.totalSteps', description: 'Steps of the training.' },
      { name: 'Loss', type: 'number', jsonPath: '.status.progress.loss' },
      {
        name: 'Checkpoint',
        type: 'integer',
        jsonPath: '.status.checkpoint.step',
        description: 'Step of the newest complete checkpoint.',
      },
      AGE,
      { name: 'Engine', type: 'string', jsonPath: '.spec.engine.name', priority: 1 },
      { name: 'Tokens/s', type: 'number', jsonPath: '.status.progress.tokensPerSecond', priority: 1 },
      {
        name: 'Left',
        type: 'integer',
        jsonPath: '.status.progress.etaSeconds',
        priority: 1,
        description: 'Expected seconds until the last step.',
      },
      { name: 'Summary', type: 'string', jsonPath: '.status.summary', priority: 1 },
    ],
  },
  {
    kind: 'Checkpoint',
    plural: 'checkpoints',
    shortNames: ['tckpt'],
    description: 'Checkpoint is a saved state of a training job that may be restored.',
    spec: CheckpointResourceSpec,
    status: CheckpointResourceStatus,
    columns: [
      { name: 'Job', type: 'string', jsonPath: '.spec.jobName' },
      { name: 'Step', type: 'integer', jsonPath: '.spec.step' },
      { name: 'Attempt', type: 'integer', jsonPath: '.spec.epoch' },
      { name: 'State', type: 'string', jsonPath: '.status.state' },
      {
        name: 'Suspect',
        type: 'string',
        jsonPath: '.status.suspect.reason',
        description: 'Why it could not be loaded; empty: nothing is held against it.',
      },
      { name: 'Bytes', type: 'integer', jsonPath: '.spec.bytes' },
      {
        name: 'Retention',
        type: 'string',
        jsonPath: '.status.retention.action',
        description: 'What the retention policy decided; empty: no policy applies.',
      },
      AGE,
    ],
  },
  {
    kind: 'Placement',
    plural: 'placements',
    shortNames: ['tplace'],
    description: 'Placement records which node each pod of one attempt goes to; written before any pod exists.',
    spec: PlacementSpec,
    columns: [
      { name: 'Job', type: 'string', jsonPath: '.spec.jobName' },
      { name: 'Attempt', type: 'integer', jsonPath: '.spec.epoch' },
      { name: 'Ranks', type: 'integer', jsonPath: '.spec.worldSize' },
      AGE,
    ],
  },
  {
    kind: 'ClusterTrainingRuntime',
    plural: 'clustertrainingruntimes',
    shortNames: ['ctrun'],
    description:
      'ClusterTrainingRuntime is what an administrator adds to the pods of jobs: devices, networks, sidecars, node selection.',
    isClusterScoped: true,
    spec: ClusterTrainingRuntimeSpec,
    columns: [{ name: 'Description', type: 'string', jsonPath: '.spec.description' }, AGE],
  },
  {
    kind: 'TrainingRuntime',
    plural: 'trainingruntimes',
    shortNames: ['trun'],
    description:
      'TrainingRuntime is what a namespace adds to the pods of its own jobs, as far as it does no more than its users may.',
    spec: TrainingRuntimeSpec,
    columns: [{ name: 'Description', type: 'string', jsonPath: '.spec.description' }, AGE],
  },
  {
    kind: 'Fabric',
    plural: 'fabrics',
    shortNames: ['tfabric'],
    description:
      'Fabric is what connects the nodes of the cluster: what an administrator says of it before any label, and what the operator finds.',
    isClusterScoped: true,
    onlyName: FABRIC_NAME,
    spec: FabricSpec,
    status: FabricStatus,
    columns: [
      { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes', description: 'Nodes with GPUs.' },
      { name: 'GPUs', type: 'integer', jsonPath: '.status.gpus' },
      { name: 'Domains', type: 'integer', jsonPath: '.status.nvlinkDomains', description: 'Of more than one node.' },
      { name: 'Islands', type: 'integer', jsonPath: '.status.islandCount' },
      { name: 'Consistent', type: 'string', jsonPath: '.status.conditions[?(@.type=="Consistent")].status' },
      AGE,
    ],
  },
];

/** File name → YAML of every CustomResourceDefinition, generated from the zod declarations. */
export function generateCrds(): ReadonlyMap<string, string> {
  return new Map(
    RESOURCES.map((resource) => [`charts/coxswain/definitions/${resource.plural}.${API_GROUP}.yaml`, toYaml(resource)]),
  );
}

function toYaml(resource: ResourceDefinition): string {
  const schema = objectSchema(resource);
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource.plural}.${API_GROUP}` },
    spec: {
      group: API_GROUP,
      scope: resource.isClusterScoped === true ? 'Cluster' : 'Namespaced',
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.kind.toLowerCase(),
        shortNames: resource.shortNames,
        categories: ['coxswain'],
      },
      versions: SERVED_API_VERSIONS.map((name) => ({
        name,
        served: true,
        storage: name === API_VERSION,
        ...(resource.status === undefined ? {} : { subresources: { status: {} } }),
        additionalPrinterColumns: resource.columns,
        schema: { openAPIV3Schema: schema },
      })),
    },
  };
  return `# Generated by \`npm run generate\` from libs/api-types. Do not edit.\n${withOneSchema(definition)}`;
}

/** All versions have one schema, so the API server converts by name alone. It is written once, because charts and their releases have a limit of size. */
function withOneSchema(definition: object): string {
  const document = new Document(definition, { aliasDuplicateObjects: false });
  const [first, ...others] = (document.getIn(['spec', 'versions']) as YAMLSeq<YAMLMap>).items;
  const schema = document.createAlias(first?.get('schema', true) as unknown as YAMLMap, 'schema');
  for (const version of others) version.set('schema', schema);
  return document.toString({ lineWidth: 0 });
}

function objectSchema(resource: ResourceDefinition): Schema {
  return {
    type: 'object',
    description: resource.description,
    required: ['spec'],
    ...(resource.onlyName === undefined
      ? {}
      : {
          'x-kubernetes-validations': [
            {
              rule: `self.metadata.name == '${resource.onlyName}'`,
              message: `a cluster has one ${resource.kind}, named ${resource.onlyName}`,
            },
          ],
        }),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      // The label carries the name, and a label's value ends at 63 characters.
      metadata: {
        type: 'object',
        ...(resource.kind === 'TrainingJob' ? { properties: { name: { type: 'string', maxLength: 63 } } } : {}),
      },
      spec: toStructuralSchema(resource.spec),
      ...(resource.status === undefined ? {} : { status: toStructuralSchema(resource.status) }),
    },
  };
}

/** zod → a structural schema: references inlined, and without what the API server refuses. */
function toStructuralSchema(schema: z.ZodType): Schema {
  const generated = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as Schema;
  const definitions = (generated['$defs'] ??
    generated['definitions'] ??
    (generated['components'] as Schema | undefined)?.['schemas'] ??
    {}) as Record<string, Schema>;
  return structural(generated, definitions) as Schema;
}

function structural(node: unknown, definitions: Readonly<Record<string, Schema>>): unknown {
  if (Array.isArray(node)) return node.map((item) => structural(item, definitions));
  if (typeof node !== 'object' || node === null) return node;
  const schema = node as Schema;
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    const target = definitions[reference.slice(reference.lastIndexOf('/') + 1)];
    if (target === undefined) throw new Error(`unresolved reference ${reference}`);
    const { $ref: _resolved, ...siblings } = schema;
    return structural({ ...target, ...siblings }, definitions);
  }
  // zod writes a reference with siblings as `allOf` of one: a structural schema wants its fields in place.
  const [only, ...others] = Array.isArray(schema['allOf']) ? (schema['allOf'] as Schema[]) : [];
  if (only !== undefined && others.length === 0) {
    const { allOf: _single, ...siblings } = schema;
    return { ...(structural(only, definitions) as Schema), ...(structural(siblings, definitions) as Schema) };
  }
  const kept: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (['$schema', '$defs', 'definitions', 'components', 'id'].includes(key) && !isSchemaOfProperty(schema, key))
      continue;
    if (key === 'additionalProperties' && value === false) continue; // illegal in a structural schema; strict clients check unknown fields
    if (key === 'propertyNames') continue; // not part of OpenAPI v3
    if (key === 'pattern' && typeof value === 'string' && /\(\?[=!<]/.test(value)) continue; // RE2 has no look-around; a CEL rule says the same
    kept[key] = key === 'default' || key === 'enum' || key.startsWith('x-') ? value : structural(value, definitions);
  }
  return kept;
}

/** Inside `properties` a key is a field's name, not a keyword. */
function isSchemaOfProperty(parent: Schema, key: string): boolean {
  return typeof parent[key] === 'object' && parent['type'] === undefined && !key.startsWith('$');
}
