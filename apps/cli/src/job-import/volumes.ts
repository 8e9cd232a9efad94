/** What the program finds on its volumes: a job mounts a claim to read and a claim to save to, and keys of Secrets. */
import { POD_PATHS, type TrainingJobSpecInput } from '@coxswain/api-types';
import { secretFilesOf } from './environment.ts';
import type { ImportReport } from './import-report.ts';
import type { Source } from './source.ts';

/** A path of the old pod, and where the same is in a pod of the job. */
export interface MovedPath {
  readonly from: string;
  readonly to: string;
}

/** The fields of a job that its mounted volumes become. */
export interface Volumes {
  readonly data?: TrainingJobSpecInput['data'];
  readonly checkpoint?: TrainingJobSpecInput['checkpoint'];
  readonly scratch?: TrainingJobSpecInput['scratch'];
  readonly secretFiles: NonNullable<TrainingJobSpecInput['engine']['secretFiles']>;
  readonly moved: readonly MovedPath[];
}

interface Mounted {
  readonly volume: Source;
  readonly mount: Source;
  readonly claimName: string;
  readonly mountPath: string;
  readonly subPath: string;
  readonly isReadOnly: boolean;
}

/** Of one claim alone that may be written to: `data` may as well be where everything is. */
const IS_DATA = /dataset|corpus|tokens/i;
const SOUNDS_LIKE_DATA = /data|corpus|input|tokens/i;
const ONE_OF_EACH = 'a job mounts one claim to read (data) and one to save to (checkpoint)';

/** Kinds of volumes that a runtime gives to the pods (`runtime-of-pod.ts`). */
export const OF_A_RUNTIME = ['hostPath', 'configMap', 'csi', 'nfs', 'projected', 'downwardAPI'] as const;

/** The volumes that are mounted, as a job knows them. What is not mounted is left to the report's end. */
export function readVolumes(
  { volumes, mounts }: { readonly volumes: readonly Source[]; readonly mounts: readonly Source[] },
  report: ImportReport,
): Volumes {
  let scratch: Volumes['scratch'];
  const byName = new Map(volumes.map((volume) => [volume.at('name').text() ?? '', volume]));
  const claims: Mounted[] = [];
  const secretFiles: Volumes['secretFiles'] = [];
  const moved: MovedPath[] = [];
  for (const mount of mounts) {
    const volume = byName.get(mount.at('name').text() ?? '');
    const mountPath = (mount.at('mountPath').text() ?? '').replace(/\/+$/, '');
    if (volume === undefined) {
      report.left(mount, { why: 'there is no volume of this name' });
    } else if (volume.at('persistentVolumeClaim').isThere) {
      claims.push(mountedClaim(volume, mount, mountPath));
    } else if (volume.at('secret').isThere) {
      for (const { path, ...file } of secretFilesOf(volume, report)) {
        secretFiles.push(file);
        moved.push({ from: `${mountPath}/${path}`, to: `${POD_PATHS.secrets}/${file.secret}/${file.key}` });
      }
      report.left(mount, { why: `keys of Secrets are below ${POD_PATHS.secrets}` });
    } else if (isScratch(volume, mountPath) && scratch === undefined) {
      scratch = scratchOf({ volume, mount, mountPath }, report);
      moved.push({ from: mountPath, to: POD_PATHS.scratch });
    } else {
      leaveVolume({ volume, mount, mountPath }, report);
    }
  }
  return {
    ...claimsOfJob(claims, moved, report),
    ...(scratch === undefined ? {} : { scratch }),
    secretFiles,
    moved,
  };
}

function mountedClaim(volume: Source, mount: Source, mountPath: string): Mounted {
  const claim = volume.at('persistentVolumeClaim');
  return {
    volume,
    mount,
    mountPath,
    claimName: claim.at('claimName').text() ?? '',
    subPath: (mount.at('subPath').text() ?? '').replace(/^\/+|\/+$/g, ''),
    isReadOnly: (mount.at('readOnly').flag() ?? false) || (claim.at('readOnly').flag() ?? false),
  };
}

/** The claim that is only read, or is called so, is data; the first other one is what is saved to. */
function claimsOfJob(
  claims: readonly Mounted[],
  moved: MovedPath[],
  report: ImportReport,
): Pick<Volumes, 'data' | 'checkpoint'> {
  const form = claims.length > 1 ? SOUNDS_LIKE_DATA : IS_DATA;
  const data = claims.find(({ isReadOnly }) => isReadOnly) ?? claims.find((one) => isCalled(one, form));
  const saved = claims.find((one) => one !== data && !one.isReadOnly);
  for (const one of claims) {
    if (one === data || one === saved) continue;
    report.left(one.volume, { why: ONE_OF_EACH, todo: `put what ${one.claimName} holds into one of them` });
    report.left(one.mount, { why: ONE_OF_EACH });
  }
  const place = (one: Mounted, directory: string): string =>
    one.subPath === '' ? directory : `${directory}/${one.subPath}`;
  if (data !== undefined) {
    moved.push({ from: data.mountPath, to: place(data, POD_PATHS.data) });
    report.taken(data.volume, `data.claimName ${data.claimName}`);
    report.changed(data.mount, 'data.path', {
      why: `what is read is at ${place(data, POD_PATHS.data)}, and cannot be written to; ${renamed(data)}`,
    });
  }
  if (saved !== undefined) {
    moved.push({ from: saved.mountPath, to: place(saved, POD_PATHS.checkpoints) });
    report.taken(saved.volume, `checkpoint.claimName ${saved.claimName}`);
    report.changed(saved.mount, 'checkpoint.path', {
      why: `what is saved is at ${place(saved, POD_PATHS.checkpoints)}; ${renamed(saved)}`,
      todo: 'see that the program loads its newest save when it starts, because a restart runs the same command; for saves that Coxswain verifies and resumes from, see docs/tasks/run-a-program-of-yours.md',
    });
  }
  return {
    ...(data === undefined ? {} : { data: { claimName: data.claimName, path: data.subPath } }),
    ...(saved === undefined
      ? {}
      : { checkpoint: { claimName: saved.claimName, ...(saved.subPath === '' ? {} : { path: saved.subPath }) } }),
  };
}

function renamed({ mountPath }: Pick<Mounted, 'mountPath'>): string {
  return `command and variables that named ${mountPath} name that; what the program itself calls ${mountPath} cannot be seen from here`;
}

function isCalled({ claimName, mountPath }: Mounted, form: RegExp): boolean {
  return form.test(claimName) || form.test(mountPath);
}

function isScratch(volume: Source, mountPath: string): boolean {
  const directory = volume.at('emptyDir');
  return (
    directory.isThere && directory.at('medium').text() !== 'Memory' && mountPath.length > 1 && mountPath !== '/dev/shm'
  );
}

function scratchOf(
  { volume, mount, mountPath }: { readonly volume: Source; readonly mount: Source; readonly mountPath: string },
  report: ImportReport,
): NonNullable<Volumes['scratch']> {
  const limit = volume.at('emptyDir').at('sizeLimit').text();
  const isSupported = limit !== undefined && /^[1-9][0-9]*(Mi|Gi|Ti)$/.test(limit);
  if (isSupported || limit === undefined) report.taken(volume, `scratch${isSupported ? `.sizeLimit ${limit}` : ''}`);
  else
    report.changed(volume, 'scratch', {
      why: `its bound ${limit} is no whole number of Mi, Gi or Ti, and was left out`,
    });
  report.changed(mount, 'scratch', { why: `it is at ${POD_PATHS.scratch}; ${renamed({ mountPath })}` });
  return isSupported ? { sizeLimit: limit } : {};
}

function leaveVolume(
  { volume, mount, mountPath }: { readonly volume: Source; readonly mount: Source; readonly mountPath: string },
  report: ImportReport,
): void {
  if (mountPath === '/dev/shm') {
    const shared = { why: 'every pod has shared memory: a quarter of its memory, at most 64 GiB' };
    report.changed(volume, '/dev/shm', shared);
    report.changed(mount, '/dev/shm', shared);
    return;
  }
  if (OF_A_RUNTIME.some((kind) => volume.at(kind).isThere)) return;
  const isRoom = volume.at('emptyDir').isThere;
  const why = isRoom ? 'a job has one scratch volume, on disk' : 'a job mounts claims and keys of Secrets alone';
  report.left(volume, {
    why,
    todo: isRoom
      ? `write to ${POD_PATHS.scratch} of a job with scratch, or to the container's own ${mountPath === '' ? 'disk' : mountPath}`
      : 'put the files into the image or into a claim',
  });
  report.left(mount, { why });
}

/** The text with old paths replaced by new ones, longest first; a path counts only as a whole. */
export function withMovedPaths(text: string, moved: readonly MovedPath[]): string {
  const inOrder = moved.filter(({ from }) => from.length > 1).sort((a, b) => b.from.length - a.from.length);
  if (inOrder.length === 0) return text;
  const paths = new Map(inOrder.map(({ from, to }) => [from, to]));
  const forms = inOrder.map(({ from }) => from.replaceAll(/[^\w/]/g, String.raw`\$&`)).join('|');
  return text.replaceAll(
    new RegExp(`(?<![\\w./-])(?:${forms})(?=$|[/\\s'":,;)])`, 'g'),
    (found) => paths.get(found) ?? found,
  );
}
