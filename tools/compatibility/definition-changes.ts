import { SchemaComparison } from './schema-changes.ts';
import type { Schema } from './schema.ts';

/** What is compared of a CustomResourceDefinition. */
export interface ComparedDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly DefinitionVersion[];
  };
}

interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly subresources?: object;
  readonly schema: { readonly openAPIV3Schema: Schema };
}

/**
 * A sentence for each difference that breaks users of the resources. Of a spec everything is compared, because objects that are stored must stay valid;
 * a status is read.
 */
export function definitionChanges(
  before: readonly ComparedDefinition[],
  after: readonly ComparedDefinition[],
): readonly string[] {
  return before.flatMap((old) => {
    const { name } = old.metadata;
    const now = after.find(({ metadata }) => metadata.name === name);
    return now === undefined ? [`${name}: is gone`] : changesOf(old.spec, now.spec, name);
  });
}

function changesOf(
  before: ComparedDefinition['spec'],
  after: ComparedDefinition['spec'],
  name: string,
): readonly string[] {
  const words = (['kind', 'plural'] as const).flatMap((word) =>
    before.names[word] === after.names[word]
      ? []
      : [`${name}: ${word} was ${before.names[word]}, and is now ${after.names[word]}`],
  );
  const shorter = (before.names.shortNames ?? []).filter((short) => after.names.shortNames?.includes(short) !== true);
  return [
    ...words,
    ...(before.scope === after.scope ? [] : [`${name}: scope was ${before.scope}, and is now ${after.scope}`]),
    ...shorter.map((short) => `${name}: the short name ${short} is gone`),
    ...before.versions.filter(({ served }) => served).flatMap((old) => versionChanges(old, after.versions, name)),
  ];
}

function versionChanges(before: DefinitionVersion, now: readonly DefinitionVersion[], name: string): readonly string[] {
  const path = `${name} ${before.name}`;
  const after = now.find((version) => version.name === before.name && version.served);
  if (after === undefined) return [`${path}: is no longer served`];
  const [old, its] = [before, after].map(({ schema }) => schema.openAPIV3Schema) as [Schema, Schema];
  const comparison = new SchemaComparison({ before: {}, after: {} });
  const withoutStatus = ({ properties: { status: _status, ...others } = {}, ...schema }: Schema): Schema => ({
    ...schema,
    properties: others,
  });
  const [oldStatus, itsStatus] = [old, its].map(({ properties }) => properties?.['status']);
  return [
    ...comparison.changes(withoutStatus(old), withoutStatus(its), { path, direction: 'written' }),
    ...(oldStatus === undefined
      ? []
      : itsStatus === undefined
        ? [`${path}.status: is gone`]
        : comparison.changes(oldStatus, itsStatus, { path: `${path}.status`, direction: 'read' })),
    ...(before.subresources === undefined || after.subresources !== undefined
      ? []
      : [`${path}: subresources are gone`]),
  ];
}
