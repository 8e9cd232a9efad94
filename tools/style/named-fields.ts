/** The fields that messages to users name, and which names of fields there are. */
import * as api from '@coxswain/api-types';
import * as layouts from '@coxswain/layout';
import * as planner from '@coxswain/planner';
import ts from 'typescript';
import { z } from 'zod';

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

const jsonSchema = (type: z.ZodType): Schema => z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }) as Schema;

/** A path in a message begins at one of these: the spec of a job, a layout document, or a layout. */
const ROOTS: readonly Schema[] = [api.TrainingJobSpec, layouts.LayoutDocument, layouts.ParallelLayout].map(jsonSchema);
const ROOT_NAMES = [...new Set(ROOTS.flatMap((root) => Object.keys(resolved(root, root).properties ?? {})))];
const PATH = new RegExp(`(?<![\\w./-])(?:spec\\.)?(?:${ROOT_NAMES.join('|')})(?:\\.[a-zA-Z]\\w*)+(?![\\w(])`, 'g');
const CAMEL_CASE = /(?<![\w./$-])[a-z]+[A-Z]\w*(?![\w(])/g;

/** Every name of a field, value or rule that a schema of resources, REST, layouts or plans declares. */
const NAMES: ReadonlySet<string> = new Set([
  ...[...Object.values(api), ...Object.values(layouts), ...Object.values(planner)].flatMap((one: unknown) =>
    one instanceof z.ZodType ? namesIn(jsonSchema(one)) : [],
  ),
  ...layouts.layoutRules.map(({ name }) => name),
]);

/** Names that others declare. */
const OF_OTHERS: ReadonlySet<string> = new Set([
  // Kubernetes, the Training Operator, JobSet.
  ...[
    'apiVersion',
    'completionMode',
    'imagePullSecrets',
    'nodeName',
    'preemptionPolicy',
    'priorityClassName',
    'replicaSpecs',
  ],
  ...['securityContext'],
  // Kueue.
  ...['controllerName'],
  // The file that `coxswain login` reads; arguments and parameters of the API.
  ...['tokenFile', 'idempotencyKey', 'maxPoints'],
  // A parameter of syslog, RFC 5424.
  ...['sequenceId'],
  // The file of prices that `coxswain costs` reads.
  ...['perGpuHour'],
  // Values of the chart, by the name that begins their path.
  ...['codeBucket'],
  // Libraries, DeepSpeed's secondary shards, and a unit.
  ...['cuBLAS', 'cuDNN', 'hpZ', 'kB'],
]);

/** Paths of the job file of engine custom, which has more than the spec, names of files, and the group of our labels. */
const OTHER_PATHS = /^(?:layout\.(?:yaml|json|worldSize)|training\.(?:accumulationSteps|coxswain\.dev))$/;

/** Fields that a message names and no schema has. Names with underscores are those of engines. */
export function unknownFields(message: string): readonly string[] {
  const paths = [...message.matchAll(PATH)].map(([path]) => path).filter((path) => !path.includes('_'));
  const words = [...message.matchAll(CAMEL_CASE)].map(([word]) => word);
  return [
    ...paths.filter((path) => !OTHER_PATHS.test(path) && !ROOTS.some((root) => hasPath(root, path))),
    ...words.filter((word) => !NAMES.has(word) && !OF_OTHERS.has(word)),
  ];
}

function hasPath(root: Schema, path: string): boolean {
  const names = path.replace(/^spec\./, '').split('.');
  return (
    names.reduce<readonly Schema[]>((at, name) => at.flatMap((schema) => below(root, schema, name)), [root]).length > 0
  );
}

function below(root: Schema, schema: Schema, name: string): readonly Schema[] {
  const { properties, items, additionalProperties, anyOf = [], allOf = [], oneOf = [] } = resolved(root, schema);
  return [
    ...(properties?.[name] === undefined ? [] : [properties[name]]),
    ...(items === undefined ? [] : below(root, items, name)),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
    ...[...anyOf, ...allOf, ...oneOf].flatMap((one) => below(root, one, name)),
  ];
}

function resolved(root: Schema, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  return resolved(root, root.$defs?.[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? {});
}

function namesIn(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(namesIn);
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, enum: values = [], const: only } = schema as Schema;
  const own = [...Object.keys(properties), ...[...values, only].filter((one) => typeof one === 'string')];
  return [...own, ...Object.values(schema).flatMap(namesIn)];
}

const FEWEST_WORDS = 4;
/** Rules of CEL, queries and code in strings. */
const CODE = /=>|[{};]\s*$|\b(?:SELECT|WHERE|INSERT|UPDATE)\b|(?:s|oldS)elf\./;

/** Sentences in strings of a source file; a value within a template counts as a sign that no name has. */
export function messagesOf(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const message = ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? ofTemplate(node) : '';
    if (message.split(/\s+/).length >= FEWEST_WORDS && !CODE.test(message)) found.push(message);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true));
  return found;
}

function ofTemplate({ head, templateSpans }: ts.TemplateExpression): string {
  return head.text + templateSpans.map(({ literal }) => `$${literal.text}`).join('');
}
