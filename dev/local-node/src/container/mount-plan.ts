import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expand } from './expansion.ts';
import type { Container } from '../kube/kube-types.ts';

/**
 * How a container sees its volumes at their mountPath. `root` mounts them in a mount namespace. `user` does so in a user namespace, without
 * privileges. `rewrite` mounts nothing and changes the paths in arguments and environment.
 */
export type MountMode = 'root' | 'user' | 'rewrite';

/** A host path that a container sees at another one. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** The binds of a container, outermost first, so that a mount inside another one is not hidden by it. */
export function bindsOf(
  container: Container,
  volumes: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string>>,
): Bind[] {
  const binds = (container.volumeMounts ?? []).map((mount): Bind => {
    const volume = volumes.get(mount.name);
    if (volume === undefined) {
      throw new Error(`container ${container.name} mounts volume ${mount.name}, which the pod does not have`);
    }
    const below = mount.subPath ?? (mount.subPathExpr === undefined ? '' : expand(mount.subPathExpr, env));
    const source = below === '' ? volume : join(volume, below);
    if (!existsSync(source)) {
      mkdirSync(source, { recursive: true }); // A kubelet makes the folder of a subPath that is missing.
    }
    return { source, target: withoutSlash(mount.mountPath), readOnly: mount.readOnly ?? false };
  });
  return binds.sort((a, b) => a.target.length - b.target.length);
}

/** `rewrite`: the text with a mountPath at its start, or after `--option=`, replaced by the host path behind it. */
export function rewritePaths(text: string, binds: readonly Bind[], imageRoot?: string): string {
  const [, option = '', path = ''] = /^(--?[\w.-]+=)?(.*)$/s.exec(text) ?? [];
  const bind = binds.findLast(({ target }) => path === target || path.startsWith(`${target}/`));
  if (bind !== undefined) {
    return `${option}${bind.source}${path.slice(bind.target.length)}`;
  }
  if (imageRoot !== undefined && path.startsWith('/') && path !== '/' && existsSync(join(imageRoot, path))) {
    return `${option}${join(imageRoot, path)}`;
  }
  return text;
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}
