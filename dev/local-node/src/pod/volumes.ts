import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fieldValue, resourceValue, type PodPlace } from '../container/downward.ts';
import type { LocalImages } from '../settings/images-file.ts';
import type { ConfigMap, DownwardItem, KeyToPath, Pod, ProjectedSource, Secret, Volume } from '../kube/kube-types.ts';

/** What volumes are made of. A finder gives undefined for what does not exist and rejects when it cannot tell. */
export interface VolumeSources {
  configMap(name: string): Promise<ConfigMap | undefined>;
  secret(name: string): Promise<Secret | undefined>;
  /** The folder behind a claim, or a sentence why there is none yet. */
  claimFolder(name: string): Promise<{ readonly folder: string } | { readonly problem: string }>;
  /** A service account token bound to the pod. */
  token(request: { readonly audience?: string; readonly expirationSeconds: number }): Promise<BoundToken>;
}

/** A token of a service account that is bound to one pod. */
export interface BoundToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** A volume made: where its files are, and when it should be made again (tokens go stale). */
export interface MadeVolume {
  readonly name: string;
  readonly path: string;
  readonly refreshAt?: Date;
}

/** Thrown when a volume cannot be made now; its message is what a kubelet would report as FailedMount. */
export class VolumeNotReady extends Error {
  override readonly name = 'VolumeNotReady';
}

/** The pod whose volumes are made, and where their contents come from. */
export interface VolumeRequest {
  readonly pod: Pod;
  readonly place: PodPlace;
  /** The pod's own folder for volumes. */
  readonly folder: string;
  readonly sources: VolumeSources;
  readonly images: LocalImages;
  readonly now: Date;
}

interface File {
  readonly path: string;
  readonly data: Buffer;
  readonly mode: number;
}

const DEFAULT_MODE = 0o644;
const DEFAULT_TOKEN_SECONDS = 3600;
/** A kubelet replaces a token when this share of its life has passed. Source: documentation of projected volumes. */
const TOKEN_REFRESH_SHARE = 0.8;
/** Config maps and secrets are looked at again this often, as a kubelet does about every minute. */
const CONTENT_REFRESH_MS = 60_000;

/** Makes one volume, or makes it anew in place. Rejects with {@link VolumeNotReady} when something is missing. */
export async function makeVolume(volume: Volume, request: VolumeRequest): Promise<MadeVolume> {
  const path = join(request.folder, volume.name);
  if (volume.emptyDir !== undefined) {
    mkdirSync(path, { recursive: true, mode: 0o777 });
    chmodSync(path, 0o777);
    return { name: volume.name, path };
  }
  if (volume.hostPath !== undefined) {
    return { name: volume.name, path: hostPath(volume.hostPath) };
  }
  if (volume.persistentVolumeClaim !== undefined) {
    const claim = await request.sources.claimFolder(volume.persistentVolumeClaim.claimName);
    if ('problem' in claim) {
      throw new VolumeNotReady(claim.problem);
    }
    return { name: volume.name, path: claim.folder };
  }
  if (volume.image !== undefined) {
    return { name: volume.name, path: imageRoot(volume.image.reference, request.images) };
  }
  const content = await contentOf(volume, request);
  writeFiles(path, content.files);
  return { name: volume.name, path, refreshAt: content.refreshAt };
}

function hostPath(source: NonNullable<Volume['hostPath']>): string {
  if (source.type === 'DirectoryOrCreate') {
    mkdirSync(source.path, { recursive: true });
  }
  if (!existsSync(source.path)) {
    throw new VolumeNotReady(`hostPath type check failed: ${source.path} does not exist`);
  }
  return source.path;
}

function imageRoot(reference: string, images: LocalImages): string {
  const found = images.find(reference);
  if ('problem' in found) {
    throw new VolumeNotReady(found.problem);
  }
  if (found.image.root === undefined) {
    throw new VolumeNotReady(`image "${reference}" has no root folder in ${images.path}`);
  }
  return found.image.root;
}

interface Content {
  readonly files: readonly File[];
  readonly refreshAt: Date;
}

async function contentOf(volume: Volume, request: VolumeRequest): Promise<Content> {
  const sources = projectedSources(volume);
  const mode =
    (volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected)?.defaultMode ?? DEFAULT_MODE;
  const parts = await Promise.all(sources.map((source) => sourceContent(source, { ...request, mode })));
  const soonest = Math.min(
    ...parts.map((part) => part.refreshAt.getTime()),
    request.now.getTime() + CONTENT_REFRESH_MS,
  );
  return { files: parts.flatMap((part) => part.files), refreshAt: new Date(soonest) };
}

/** Every volume with content of the API is a projected one with a single source. */
function projectedSources(volume: Volume): readonly ProjectedSource[] {
  if (volume.projected !== undefined) {
    return volume.projected.sources ?? [];
  }
  if (volume.configMap !== undefined) {
    return [{ configMap: volume.configMap }];
  }
  if (volume.secret !== undefined) {
    return [{ secret: { ...volume.secret, name: volume.secret.secretName } }];
  }
  if (volume.downwardAPI !== undefined) {
    return [{ downwardAPI: volume.downwardAPI }];
  }
  throw new VolumeNotReady(
    `volume ${volume.name} has no source that local nodes know (emptyDir, hostPath, persistentVolumeClaim, configMap, secret, downwardAPI, projected, image)`,
  );
}

type SourceRequest = VolumeRequest & { readonly mode: number };

async function sourceContent(source: ProjectedSource, request: SourceRequest): Promise<Content> {
  const never = new Date(8.64e15);
  if (source.serviceAccountToken !== undefined) {
    return await tokenContent(source.serviceAccountToken, request);
  }
  if (source.configMap !== undefined) {
    const found = await request.sources.configMap(source.configMap.name);
    const data = found && { ...toBuffers(found.data, 'utf8'), ...toBuffers(found.binaryData, 'base64') };
    return { files: keyedFiles(data, { ...source.configMap, what: 'configmap' }, request.mode), refreshAt: never };
  }
  if (source.secret !== undefined) {
    const found = await request.sources.secret(source.secret.name);
    const data = found && toBuffers(found.data, 'base64');
    return { files: keyedFiles(data, { ...source.secret, what: 'secret' }, request.mode), refreshAt: never };
  }
  const items = source.downwardAPI?.items ?? [];
  return { files: items.map((item) => downwardFile(item, request)), refreshAt: never };
}

async function tokenContent(
  source: NonNullable<ProjectedSource['serviceAccountToken']>,
  request: SourceRequest,
): Promise<Content> {
  const { token, expiresAt } = await request.sources.token({
    ...(source.audience === undefined ? {} : { audience: source.audience }),
    expirationSeconds: source.expirationSeconds ?? DEFAULT_TOKEN_SECONDS,
  });
  return {
    files: [{ path: source.path, data: Buffer.from(token), mode: 0o600 }],
    refreshAt: tokenRefreshAt(request.now, expiresAt),
  };
}

/** When a token that was issued now should be replaced: after four fifths of its life. */
export function tokenRefreshAt(issuedAt: Date, expiresAt: Date): Date {
  return new Date(issuedAt.getTime() + TOKEN_REFRESH_SHARE * (expiresAt.getTime() - issuedAt.getTime()));
}

function toBuffers(data: Readonly<Record<string, string>> = {}, encoding: BufferEncoding): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}

interface KeyedSource {
  readonly what: 'configmap' | 'secret';
  readonly name: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

function keyedFiles(data: Readonly<Record<string, Buffer>> | undefined, source: KeyedSource, mode: number): File[] {
  if (data === undefined) {
    if (source.optional === true) {
      return [];
    }
    throw new VolumeNotReady(`${source.what} "${source.name}" not found`);
  }
  const items = source.items ?? Object.keys(data).map((key): KeyToPath => ({ key, path: key }));
  return items.flatMap((item) => {
    const found = data[item.key];
    if (found === undefined && source.optional !== true) {
      throw new VolumeNotReady(`${source.what} references non-existent config key: ${item.key}`);
    }
    return found === undefined ? [] : [{ path: item.path, data: found, mode: item.mode ?? mode }];
  });
}

function downwardFile(item: DownwardItem, request: SourceRequest): File {
  const { pod, place } = request;
  if (item.resourceFieldRef !== undefined) {
    const { containerName } = item.resourceFieldRef;
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(
      ({ name }) => name === containerName,
    );
    const value = container === undefined ? '' : resourceValue(item.resourceFieldRef, container, place);
    return { path: item.path, data: Buffer.from(value), mode: item.mode ?? request.mode };
  }
  const value = item.fieldRef === undefined ? '' : (fieldValue(item.fieldRef, pod, place) ?? '');
  return { path: item.path, data: Buffer.from(value), mode: item.mode ?? request.mode };
}

/** Each file is replaced as a whole, so that no reader sees half of one. */
function writeFiles(folder: string, files: readonly File[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const file of files) {
    const path = join(folder, file.path);
    if (existsSync(path) && readFileSync(path).equals(file.data) && (statSync(path).mode & 0o777) === file.mode) {
      continue;
    }
    mkdirSync(dirname(path), { recursive: true });
    const draft = join(dirname(path), `..${Buffer.from(file.path).toString('hex').slice(0, 64)}.new`);
    rmSync(draft, { force: true });
    writeFileSync(draft, file.data, { mode: file.mode });
    chmodSync(draft, file.mode);
    renameSync(draft, path);
  }
}
