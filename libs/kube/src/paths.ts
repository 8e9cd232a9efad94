/** Which resource: `group` is '' for the core group; without `name` it is the collection, without `namespace` all of them or a cluster-scoped one. */
export interface ResourceAddress {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The URL path of a resource or collection. Parts are escaped, so a hostile name cannot leave its place in the path. */
export function resourcePath(address: ResourceAddress): string {
  const { group, version, plural, namespace, name } = address;
  const root = group === '' ? ['api', version] : ['apis', group, version];
  const scope = namespace === undefined ? [] : ['namespaces', namespace];
  const parts = [...root, ...scope, plural, ...(name === undefined ? [] : [name])];
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..') {
      throw new Error(
        `a resource path cannot hold the part "${part}": group, version, plural, namespace and name must not be empty`,
      );
    }
  }
  return `/${parts.map(encodeURIComponent).join('/')}`;
}
