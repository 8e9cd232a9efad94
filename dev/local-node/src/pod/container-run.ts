import { mkdirSync } from 'node:fs';
import { referencedBy, type References } from '../container/environment.ts';
import { expand } from '../container/expansion.ts';
import { bindsOf, rewritePaths, type Bind, type MountMode } from '../container/mount-plan.ts';
import type { ContainerRun } from '../container/sandbox.ts';
import type { Container, Pod } from '../kube/kube-types.ts';
import type { LocalImage } from '../settings/images-file.ts';
import type { VolumeSources } from './volumes.ts';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a container is run with. */
export interface RunParts {
  readonly image: LocalImage;
  readonly env: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly terminationFile: string;
  /** Folders of the pod's volumes by name. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly mountMode: MountMode;
  /** Where the container's root is built, in the modes that have one. */
  readonly makeRoot: () => string;
}

/** How the sandbox is to run a container; undefined when it names no command, which an image here cannot supply. */
export function runOf(container: Container, parts: RunParts): ContainerRun | undefined {
  const { image, env, logPath, mountMode } = parts;
  const argv = [...(container.command ?? []), ...(container.args ?? [])].map((text) => expand(text, env));
  if (argv.length === 0) {
    return undefined;
  }
  const target = container.terminationMessagePath ?? '/dev/termination-log';
  const message: Bind = { source: parts.terminationFile, target, readOnly: false };
  const binds = [...bindsOf(container, parts.volumes, env), message];
  const cwd = container.workingDir ?? image.workingDir ?? '/';
  if (mountMode !== 'rewrite') {
    const root = image.root === undefined ? {} : { image: image.root };
    return { argv, env, cwd, logPath, mounts: { as: mountMode, at: parts.makeRoot(), binds, ...root } };
  }
  const rewrite = (text: string): string => rewritePaths(text, binds, image.root);
  const rewritten = Object.entries(env).map(([name, value]) => [name, rewrite(value)] as const);
  const folder = rewrite(cwd);
  mkdirSync(folder, { recursive: true });
  return { argv: argv.map(rewrite), env: Object.fromEntries(rewritten), cwd: folder, logPath };
}

/** The environment below the container's own: of the image, the pod and the cluster. */
export function baseEnvironment(
  { metadata, spec }: Pod,
  image: LocalImage,
  clusterEnv: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PATH: [...image.pathPrepend, image.env['PATH'] ?? DEFAULT_PATH].join(':'),
    HOME: process.env['HOME'] ?? '/',
    HOSTNAME: spec.hostname ?? metadata.name,
    ...clusterEnv,
    ...Object.fromEntries(Object.entries(image.env).filter(([name]) => name !== 'PATH')),
  };
}

/** Fetches the objects that a container's environment refers to. Rejects when the apiserver does not answer. */
export async function fetchReferences(container: Container, sources: VolumeSources): Promise<References> {
  const names = referencedBy(container);
  const fetch = async <T>(keys: readonly string[], find: (name: string) => Promise<T>): Promise<Map<string, T>> =>
    new Map(await Promise.all(keys.map(async (key): Promise<[string, T]> => [key, await find(key)])));
  return {
    configMaps: await fetch(names.configMaps, sources.configMap),
    secrets: await fetch(names.secrets, sources.secret),
  };
}
