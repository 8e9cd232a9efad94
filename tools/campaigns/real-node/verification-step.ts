import { ANNOTATIONS, API_GROUP_VERSION, type Checkpoint } from '@coxswain/api-types';
import { waitFor, type ControlPlane } from '@coxswain/local-cluster';
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAMESPACE } from './job-objects.ts';
import { must } from './steps.ts';

const DEADLINE_MS = 180_000;

interface WorkerPod {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly securityContext?: { readonly runAsUser?: number } }[];
    readonly securityContext?: { readonly runAsUser?: number };
  };
}

/**
 * Asks for V3 of a save that only the trainer's user may read, and again after one byte of it is flipped. `folder`: where the claim of the saves lies. Returns
 * what was seen.
 */
export async function verifyOnRequest(plane: ControlPlane, folder: string): Promise<string> {
  const { metadata, spec } = await someCheckpoint(plane);
  const { name } = metadata;
  const files = filesBelow(join(folder, spec.path));
  for (const { path, isFolder } of files) chmodSync(path, isFolder ? 0o700 : 0o600);
  const owners = new Set(files.map(({ uid }) => uid));
  must(owners.size === 1 && !owners.has(0), `users ${[...owners].join(', ')} wrote the save, not one that is not root`);

  await annotate(plane, name, 'V3');
  const user = await userOfPod(plane, `${name}-verify`);
  must(owners.has(user ?? 0), `the pod runs as user ${user}, and user ${[...owners].join()} wrote the save`);
  const sound = await verdictOf(plane, name, ({ by, level }) => by === 'Worker' && level === 'V3');
  must(sound.verdict === 'sound', `it is ${sound.verdict}: ${sound.findings[0]?.message}`);

  const flipped = flipByte(files);
  await annotate(plane, name, `V3 ${new Date().toISOString()}`);
  const broken = await verdictOf(plane, name, ({ verdict }) => verdict !== 'sound');
  must(broken.verdict === 'damaged', `after a flip in ${flipped} it is ${broken.verdict}`);
  const nodes = await waitFor(
    async () => {
      const { status } = await checkpoint(plane, name);
      const found = status?.suspect?.evidence ?? status?.condemnation?.evidence ?? [];
      const on = new Set(found.map(({ node }) => node));
      return on.size > 1 && [...on];
    },
    { what: 'a second node to find the flipped byte', deadlineMs: DEADLINE_MS },
  );
  return `user ${user} read ${sound.readBytes} bytes on ${sound.node}; a flipped byte of ${flipped} is found on ${nodes.join(' and ')}: ${broken.findings[0]?.message}`;
}

type Verification = NonNullable<NonNullable<Checkpoint['status']>['verification']>;

async function verdictOf(
  plane: ControlPlane,
  name: string,
  holds: (verification: Verification) => boolean,
): Promise<Verification> {
  let last: Checkpoint['status'];
  try {
    return await waitFor(
      async () => {
        last = (await checkpoint(plane, name)).status;
        return last?.verification !== undefined && holds(last.verification) && last.verification;
      },
      { what: 'a verdict', deadlineMs: DEADLINE_MS },
    );
  } catch (error) {
    throw new Error(`${String(error)}; the status is ${JSON.stringify(last)}`, { cause: error });
  }
}

/** The pod stays until the operator has read its answer. */
async function userOfPod(plane: ControlPlane, name: string): Promise<number | undefined> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}`;
  const { spec } = await waitFor(() => plane.admin.json<WorkerPod>({ method: 'GET', path }), {
    what: `the pod ${name}`,
    intervalMs: 200,
    deadlineMs: DEADLINE_MS,
  });
  return spec.containers[0]?.securityContext?.runAsUser ?? spec.securityContext?.runAsUser;
}

/** The oldest: the job that trains goes on from a newer one. */
async function someCheckpoint(plane: ControlPlane): Promise<Checkpoint> {
  const { items } = await plane.admin.json<{ items: readonly Checkpoint[] }>({ method: 'GET', path: pathOf('') });
  const [oldest] = items.toSorted((one, other) => one.spec.step - other.spec.step);
  if (oldest === undefined) throw new Error('there is no Checkpoint');
  return oldest;
}

function checkpoint(plane: ControlPlane, name: string): Promise<Checkpoint> {
  return plane.admin.json<Checkpoint>({ method: 'GET', path: pathOf(`/${name}`) });
}

function pathOf(name: string): string {
  return `/apis/${API_GROUP_VERSION}/namespaces/${NAMESPACE}/checkpoints${name}`;
}

async function annotate(plane: ControlPlane, name: string, value: string): Promise<void> {
  const annotation = `${ANNOTATIONS.verify}=${value}`;
  await plane.kubectl(['-n', NAMESPACE, 'annotate', '--overwrite', 'checkpoint', name, annotation]);
}

interface SavedFile {
  readonly path: string;
  readonly isFolder: boolean;
  readonly uid: number;
  readonly bytes: number;
}

/** The folder itself, and all that is in it. */
function filesBelow(folder: string): readonly SavedFile[] {
  const names = ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })];
  return names.map((name) => {
    const path = join(folder, name);
    const stats = statSync(path);
    return { path, isFolder: stats.isDirectory(), uid: stats.uid, bytes: stats.size };
  });
}

/** In the middle of the largest file, whose times and owner stay, as where a disk lies. */
function flipByte(files: readonly SavedFile[]): string {
  const [largest] = files.filter(({ isFolder }) => !isFolder).toSorted((one, other) => other.bytes - one.bytes);
  if (largest === undefined) throw new Error('the save has no files');
  const { path, uid } = largest;
  const { atime, mtime, gid } = statSync(path);
  const bytes = readFileSync(path);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  chownSync(path, uid, gid);
  utimesSync(path, atime, mtime);
  return path.replace(/.*\//, '');
}
