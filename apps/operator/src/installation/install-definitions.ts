import { isNotFound, resourcePath, sleep, type Clock, type KubeClient } from '@coxswain/kube';
import { compareReleases } from './compare-releases.ts';
import type { Definition } from './definition.ts';

/** Annotation of a definition: the release that installed it. A definition without it is older than all with it. */
export const RELEASE_ANNOTATION = 'training.coxswain.dev/release';

/** Inputs of the installation. */
export interface InstallDefinitionsParts {
  readonly client: Pick<KubeClient, 'get' | 'apply'>;
  readonly clock: Clock;
  readonly definitions: readonly Definition[];
  /** Of the chart that they come with, such as 0.2.0. */
  readonly release: string;
  /** Called before each write; throws if another process may be installing. */
  readonly guard?: () => void;
}

/**
 * Installs the resource definitions of this release, waits until they are served, and resolves with a line for each. Definitions of a newer release stay
 * unchanged. Rejects before any write if stored objects may have a version that this release does not know, because they would become unreadable. A
 * second run changes nothing.
 */
export async function installDefinitions(parts: InstallDefinitionsParts): Promise<readonly string[]> {
  const { definitions, release } = parts;
  const found = await Promise.all(definitions.map((definition) => readOrNone(parts, definition)));
  const isNewer = (there: Definition | undefined): boolean => compareReleases(releaseOf(there), release) > 0;
  const lost = definitions.flatMap((definition, i) =>
    isNewer(found[i]) ? [] : sentenceOfLoss(definition, { there: found[i], release }),
  );
  if (lost.length > 0) throw new Error(`nothing was installed: ${lost.join('; ')}`);
  const lines: string[] = [];
  for (const [i, definition] of definitions.entries()) {
    const { name } = definition.metadata;
    if (isNewer(found[i])) {
      lines.push(
        `${name} is not changed: release ${releaseOf(found[i])} installed it, which is newer than this one (${release})`,
      );
    } else {
      await apply(parts, definition);
      lines.push(`${name} is that of release ${release}`);
    }
  }
  await Promise.all(definitions.map((definition) => untilServed(parts, definition)));
  return lines;
}

const FIELD_MANAGER = 'coxswain-definitions';
const SERVED_MS = 60_000;
const LOOK_EVERY_MS = 500;

function pathOf({ metadata: { name } }: Definition): string {
  return resourcePath({ group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions', name });
}

async function readOrNone(
  { client }: Pick<InstallDefinitionsParts, 'client'>,
  definition: Definition,
): Promise<Definition | undefined> {
  try {
    return await client.get<Definition>(pathOf(definition));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function releaseOf(definition: Definition | undefined): string {
  return definition?.metadata.annotations?.[RELEASE_ANNOTATION] ?? '';
}

function sentenceOfLoss(
  definition: Definition,
  { there, release }: { readonly there: Definition | undefined; readonly release: string },
): readonly string[] {
  const known = new Set(definition.spec.versions.map(({ name }) => name));
  const lost = (there?.status?.storedVersions ?? []).filter((version) => !known.has(version));
  if (lost.length === 0) return [];
  const { name } = definition.metadata;
  return [
    `${name} has objects that may be stored as ${lost.join(', ')}, which release ${release} no longer knows. Upgrade to a release that knows both first, ` +
      `write every object once (kubectl get ${name} -A -o json | kubectl replace -f -), and take ${lost.join(', ')} out of status.storedVersions of the definition`,
  ];
}

async function apply({ client, release, guard }: InstallDefinitionsParts, definition: Definition): Promise<void> {
  const { apiVersion, kind, metadata, spec } = definition;
  const annotations = { ...metadata.annotations, [RELEASE_ANNOTATION]: release };
  const body = { apiVersion, kind, metadata: { name: metadata.name, annotations }, spec };
  // Takes over fields from helm, kubectl or an earlier release.
  await client.apply(pathOf(definition), body, {
    fieldManager: FIELD_MANAGER,
    force: true,
    ...(guard === undefined ? {} : { guard }),
  });
}

async function untilServed(parts: InstallDefinitionsParts, definition: Definition): Promise<void> {
  const { clock } = parts;
  const until = clock.monotonicMs() + SERVED_MS;
  for (;;) {
    const { status } = (await readOrNone(parts, definition)) ?? {};
    const conditions = status?.conditions ?? [];
    if (conditions.some(({ type, status: is }) => type === 'Established' && is === 'True')) return;
    if (clock.monotonicMs() >= until) {
      const why = conditions.filter(({ status: is }) => is === 'False').map(({ message = '' }) => message);
      throw new Error(
        `${definition.metadata.name} is not served after ${SERVED_MS / 1000} s: ${why.join('; ') || 'the API server does not say why'}`,
      );
    }
    await sleep(clock, LOOK_EVERY_MS);
  }
}
