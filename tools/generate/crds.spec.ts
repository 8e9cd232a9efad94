import { parse } from 'yaml';
import { generateCrds } from './crds.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

interface Definition {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
}

function undescribed(schema: Schema, path: string): readonly string[] {
  const { properties = {}, items, additionalProperties } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field.description === undefined ? [`${path}.${name}`] : []),
      ...undescribed(field, `${path}.${name}`),
    ]),
    ...(items === undefined ? [] : undescribed(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : undescribed(additionalProperties, `${path}{}`)),
  ];
}

it.each([...generateCrds()])('kubectl explain says what each field of %s is for', (_path, yaml) => {
  const [version] = (parse(yaml) as Definition).spec.versions;
  const { spec = {}, status = {} } = version?.schema.openAPIV3Schema.properties ?? {};
  expect([...undescribed(spec, 'spec'), ...undescribed(status, 'status')]).toEqual([]);
});
