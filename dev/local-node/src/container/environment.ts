import { expand } from './expansion.ts';
import { fieldValue, resourceValue, type PodPlace } from './downward.ts';
import type { ConfigMap, Container, EnvFromSource, EnvVar, KeyRef, Pod, Secret } from '../kube/kube-types.ts';

/** The objects that a container's environment may refer to; `undefined` says that there is none of that name. */
export interface References {
  readonly configMaps: ReadonlyMap<string, ConfigMap | undefined>;
  readonly secrets: ReadonlyMap<string, Secret | undefined>;
}

/** What the environment of a container is computed from. */
export interface EnvironmentFacts {
  readonly pod: Pod;
  readonly container: Container;
  readonly place: PodPlace;
  readonly references: References;
  /** What the image and the node set; the container's own variables come above and may refer to these. */
  readonly base: Readonly<Record<string, string>>;
}

/** The environment, or the sentence with which a kubelet says why it cannot make it (CreateContainerConfigError). */
export type Environment =
  | { readonly kind: 'complete'; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: 'impossible'; readonly message: string };

/** Names of the config maps and secrets that the environment of `container` needs. */
export function referencedBy(container: Container): { readonly configMaps: string[]; readonly secrets: string[] } {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const source of container.envFrom ?? []) {
    addIfNamed(configMaps, source.configMapRef);
    addIfNamed(secrets, source.secretRef);
  }
  for (const { valueFrom } of container.env ?? []) {
    addIfNamed(configMaps, valueFrom?.configMapKeyRef);
    addIfNamed(secrets, valueFrom?.secretKeyRef);
  }
  return { configMaps: [...configMaps], secrets: [...secrets] };
}

function addIfNamed(names: Set<string>, ref: { readonly name: string } | undefined): void {
  if (ref !== undefined) {
    names.add(ref.name);
  }
}

/** Builds the environment in a kubelet's order: base, then `envFrom`, then `env`, each may refer to earlier ones. */
export function containerEnvironment(facts: EnvironmentFacts): Environment {
  const env: Record<string, string> = { ...facts.base };
  try {
    for (const source of facts.container.envFrom ?? []) {
      Object.assign(env, variablesFrom(source, facts));
    }
    for (const variable of facts.container.env ?? []) {
      const value = variableValue(variable, facts, env);
      if (value !== undefined) {
        env[variable.name] = value;
      }
    }
  } catch (error) {
    if (error instanceof Impossible) {
      return { kind: 'impossible', message: error.message };
    }
    throw error;
  }
  return { kind: 'complete', env };
}

class Impossible extends Error {}

function variablesFrom(source: EnvFromSource, facts: EnvironmentFacts): Record<string, string> {
  const prefixed = (data: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [`${source.prefix ?? ''}${key}`, value]));
  if (source.configMapRef !== undefined) {
    return prefixed(configMapData(source.configMapRef, facts) ?? {});
  }
  return source.secretRef === undefined ? {} : prefixed(secretData(source.secretRef, facts) ?? {});
}

function variableValue(
  variable: EnvVar,
  facts: EnvironmentFacts,
  env: Readonly<Record<string, string>>,
): string | undefined {
  const from = variable.valueFrom;
  if (from?.fieldRef !== undefined) {
    return (
      fieldValue(from.fieldRef, facts.pod, facts.place) ?? fail(`unsupported fieldPath: ${from.fieldRef.fieldPath}`)
    );
  }
  if (from?.resourceFieldRef !== undefined) {
    return resourceValue(from.resourceFieldRef, facts.container, facts.place);
  }
  if (from?.configMapKeyRef !== undefined) {
    return keyOf(
      configMapData(from.configMapKeyRef, facts),
      from.configMapKeyRef,
      `ConfigMap ${facts.pod.metadata.namespace}`,
    );
  }
  if (from?.secretKeyRef !== undefined) {
    return keyOf(secretData(from.secretKeyRef, facts), from.secretKeyRef, `Secret ${facts.pod.metadata.namespace}`);
  }
  return expand(variable.value ?? '', env);
}

type Ref = { readonly name: string; readonly optional?: boolean };

function configMapData(ref: Ref, facts: EnvironmentFacts): Readonly<Record<string, string>> | undefined {
  const found = facts.references.configMaps.get(ref.name);
  if (found === undefined) {
    return ref.optional === true ? undefined : fail(`configmap "${ref.name}" not found`);
  }
  return found.data ?? {};
}

function secretData(ref: Ref, facts: EnvironmentFacts): Readonly<Record<string, string>> | undefined {
  const found = facts.references.secrets.get(ref.name);
  if (found === undefined) {
    return ref.optional === true ? undefined : fail(`secret "${ref.name}" not found`);
  }
  const decode = ([key, value]: [string, string]): [string, string] => [
    key,
    Buffer.from(value, 'base64').toString('utf8'),
  ];
  return Object.fromEntries(Object.entries(found.data ?? {}).map(decode));
}

function keyOf(data: Readonly<Record<string, string>> | undefined, ref: KeyRef, kind: string): string | undefined {
  const value = data?.[ref.key];
  if (value !== undefined || ref.optional === true) {
    return value;
  }
  return fail(`couldn't find key ${ref.key} in ${kind}/${ref.name}`);
}

function fail(message: string): never {
  throw new Impossible(message);
}
