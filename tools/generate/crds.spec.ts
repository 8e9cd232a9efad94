import { parse } from 'yaml';
import { generateCrds } from './crds.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

interface Version {
  readonly name: string;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Schema };
}

interface Definition {
  readonly spec: { readonly versions: readonly Version[] };
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

it.each([...generateCrds()])('%s serves v1alpha1, which is stored, and v1beta1 with the same schema', (_path, yaml) => {
  const { versions } = (parse(yaml) as Definition).spec;
  expect(versions.map(({ name, storage }) => [name, storage])).toEqual([
    ['v1alpha1', true],
    ['v1beta1', false],
  ]);
  const [alpha, beta] = versions.map(({ name: _name, storage: _storage, ...rest }) => rest);
  expect(beta).toEqual(alpha);
});
