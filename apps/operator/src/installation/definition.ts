import type { KubeObject } from '@coxswain/kube';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A CustomResourceDefinition, as far as its installation asks. */
/** A CustomResourceDefinition. */
export interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly { readonly name: string }[] };
  readonly status?: {
    readonly storedVersions?: readonly string[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

/** Reads the definitions that the chart mounts, one JSON file each. Throws a message if there are none or a file is something else. */
export function readDefinitions(folder: string): readonly Definition[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  if (files.length === 0)
    throw new Error(`${folder} contains no definitions; it must contain one *.json file for each`);
  return files.sort().map((file) => {
    const definition = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Partial<Definition>;
    if (definition.kind === 'CustomResourceDefinition' && definition.spec !== undefined)
      return definition as Definition;
    throw new Error(
      `${join(folder, file)} is of kind ${definition.kind ?? 'none'}: CustomResourceDefinition was expected`,
    );
  });
}
