/** The reference engine under the real launcher, which keeps its checkpoints in a bucket of a real S3 server. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import {
  EXIT_CODES,
  LISTENED_PARTS,
  POD_ENV,
  POD_PATHS,
  type RankAssignment,
  type SavedCheckpoint,
  type StepReport,
} from '@coxswain/api-types';
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import { findEnginePython, waitFor } from '@coxswain/local-cluster';
import { type ObjectStore, startObjectStore } from '@coxswain/test-harness';
import { openBucketStore } from '../bucket/open-bucket.ts';
import { verifyInBucket } from '../bucket/verify-in-bucket.ts';
import { bucketIn } from '../program/settings.ts';
import { anAuthority, aWholeGang, FakeOperator } from '../testing/fake-operator.ts';
import { LauncherProcess } from '../testing/launcher-process.ts';

const PYTHON = process.env['COXSWAIN_ENGINE_PYTHON'] ?? findEnginePython();
const ENGINES = join(import.meta.dirname, '../../../../engines');
const CREDENTIALS = { accessKeyId: 'key', secretAccessKey: 'secret' };
const SAVES_EVERY = 4;
const RUN = 'tiny-0123abcd';
const GANG = 'gang-0123abcd';

const directory = mkdtempSync(join(tmpdir(), 'bucket-'));
const disposals: (() => Promise<void>)[] = [];
let objects: ObjectStore;
let bucket: CheckpointStore;

beforeAll(async () => {
  writeFileSync(join(directory, 'text'), 'One boat and many oars that pull one way. '.repeat(500));
  objects = await startObjectStore();
  const { endpoint } = objects;
  bucket = await openStore(`s3://${objects.bucket}/runs`, { endpoint, credentials: CREDENTIALS });
});

afterEach(async () => {
  await Promise.all(disposals.splice(0).map((dispose) => dispose()));
});

afterAll(async () => {
  await objects.stop();
  rmSync(directory, { recursive: true, force: true });
});

interface Run {
  readonly operator: FakeOperator;
  readonly launcher: LauncherProcess;
  /** The disk of the node. */
  readonly disk: string;
}

/** What one pod of a gang of pods, with one rank each, is started with. */
interface Pod {
  readonly operator: FakeOperator;
  readonly podIndex?: number;
  readonly steps: number;
  readonly ranks?: number;
  readonly uri?: string;
}

/** A pod on a node with an empty disk. */
async function startPod({ operator, podIndex = 0, steps: wanted, ranks = 1, uri }: Pod): Promise<Run> {
  const disk = mkdtempSync(join(directory, 'disk-'));
  const flags = {
    data: join(directory, 'text'),
    steps: wanted,
    'step-delay-ms': 60,
    'save-every': SAVES_EVERY,
    'data-parallel': ranks,
  };
  const launcher = new LauncherProcess({
    engine: [
      PYTHON,
      '-m',
      'coxswain_reference.train',
      ...Object.entries(flags).flatMap(([k, v]) => [`--${k}`, `${v}`]),
    ],
    environment: {
      PYTHONPATH: [join(ENGINES, 'reference'), join(ENGINES, 'agent')].join(delimiter),
      [POD_ENV.podIndex]: String(podIndex),
      [POD_ENV.podUid]: `pod-uid-${podIndex}`,
      [POD_ENV.checkpointMount]: disk,
      [POD_ENV.bucket]: JSON.stringify({ uri: uri ?? `s3://${objects.bucket}/runs`, endpoint: objects.endpoint }),
      [POD_ENV.bucketKeyId]: CREDENTIALS.accessKeyId,
      [POD_ENV.bucketKey]: CREDENTIALS.secretAccessKey,
    },
    operators: { urls: [operator.url], ca: (await anAuthority()).certPem },
  });
  disposals.push(() => launcher.dispose());
  return { operator, launcher, disk };
}

/** Two pods on nodes that share no disk. */
async function trainOnTwoNodes(
  epoch: number,
  more: { readonly steps: number; readonly resume?: RankAssignment['resume'] },
): Promise<readonly [Run, Run]> {
  const operator = await FakeOperator.start(await anAuthority());
  disposals.push(() => operator.stop());
  const { steps: wanted, resume } = more;
  operator.listensTo = LISTENED_PARTS;
  operator.assignmentOf = (podIndex) => ({
    ...aWholeGang(2, { saveDirectory: `${GANG}/epoch-${epoch}`, ...(resume === undefined ? {} : { resume }) }),
    podIndex,
    podCount: 2,
    ranks: String(podIndex),
  });
  const start = (podIndex: number): Promise<Run> => startPod({ operator, podIndex, steps: wanted, ranks: 2 });
  return await Promise.all([start(0), start(1)]);
}

/** A gang of one pod. */
async function train(
  epoch: number,
  {
    steps: wanted,
    resume,
    uri,
  }: { readonly steps: number; readonly resume?: RankAssignment['resume']; readonly uri?: string },
): Promise<Run> {
  const operator = await FakeOperator.start(await anAuthority());
  disposals.push(() => operator.stop());
  operator.assignmentOf = () =>
    aWholeGang(1, { saveDirectory: `${RUN}/epoch-${epoch}`, ...(resume === undefined ? {} : { resume }) });
  return await startPod({ operator, steps: wanted, ...(uri === undefined ? {} : { uri }) });
}

function saved({ operator }: Run): readonly SavedCheckpoint[] {
  return operator.ofKind('checkpointSaved').map(({ checkpoint }) => checkpoint);
}

function steps({ operator }: Run): readonly StepReport[] {
  return operator.ofKind('step').map(({ report }) => report);
}

async function exitOf(run: Run): Promise<number> {
  const code = await run.launcher.exited;
  process.stdout.write(run.launcher.stderr);
  return code;
}

describe('a job that keeps its checkpoints in a bucket', () => {
  let newest: SavedCheckpoint;

  it('reports a save once the bucket has all of it, and keeps one copy on the disk of the node', async () => {
    await bucket.write(`${RUN}/epoch-0/step-00000002/.coxswain-upload`, [Buffer.from('sha')]);
    await bucket.write(`${RUN}/epoch-0/step-00000002/rank-0.bin`, [Buffer.from('half')]);
    const run = await train(1, { steps: 1_000_000 });
    await waitFor(() => saved(run).length >= 2, { what: 'two saves', deadlineMs: 300_000 });
    const reported = saved(run);
    run.launcher.child.kill('SIGKILL');
    await exitOf(run);
    newest = reported.at(-1) as SavedCheckpoint;
    for (const { directory: folder, files } of reported) {
      const listed = (await bucket.list(`${RUN}/epoch-1/${folder}`)).map(({ path }) => path);
      expect(listed).toHaveLength(files + 1);
      expect(listed).toContain(`${RUN}/epoch-1/${folder}/manifest.json`);
    }
    expect(readdirSync(join(run.disk, RUN, 'epoch-1'))).not.toContain(reported[0]?.directory);
    // What an earlier run left half-uploaded is gone.
    expect(await bucket.list(`${RUN}/epoch-0`)).toEqual([]);
  });

  it('goes on from the bucket on a node whose disk is empty', async () => {
    const resume = {
      step: newest.step,
      path: `${RUN}/epoch-1/${newest.directory}`,
      manifestSha256: newest.manifestSha256,
    };
    const run = await train(2, { steps: newest.step + SAVES_EVERY, resume });
    expect(await exitOf(run)).toBe(0);
    expect(run.operator.ofKind('resumed').map(({ step }) => step)).toEqual([newest.step]);
    expect(steps(run)[0]?.step).toBe(newest.step + 1);
    expect(saved(run).map(({ step }) => step)).toEqual([newest.step + SAVES_EVERY]);
    expect(run.operator.violations).toEqual([]);
  });

  it('is read by a pod that verifies', async () => {
    const { manifestSha256 } = newest;
    const asked = { directory: join(POD_PATHS.checkpoints, RUN, 'epoch-1', newest.directory), manifestSha256 };
    const environment = {
      [POD_ENV.bucket]: JSON.stringify({ uri: bucket.location, endpoint: objects.endpoint }),
      [POD_ENV.bucketKeyId]: CREDENTIALS.accessKeyId,
      [POD_ENV.bucketKey]: CREDENTIALS.secretAccessKey,
    };
    const settings = bucketIn(environment);
    const store = settings && (await openBucketStore(settings));
    if (store === undefined) throw new Error('the environment names a bucket');
    const { verification, contents } = await verifyInBucket(store, asked, { level: 'V2' });
    expect([verification, contents?.step]).toMatchObject([{ level: 'V2', verdict: 'sound' }, newest.step]);
    const other = { ...asked, manifestSha256: 'f'.repeat(64) };
    await expect(verifyInBucket(store, other, { level: 'V2' })).rejects.toThrow(/SHA-256/);
  });

  it('blames neither the checkpoint nor its files if the bucket does not exist', async () => {
    const resume = { step: 4, path: `${RUN}/epoch-1/${newest.directory}`, manifestSha256: newest.manifestSha256 };
    const run = await train(3, { steps: 8, resume, uri: 's3://nowhere/runs' });
    expect(await exitOf(run)).toBe(EXIT_CODES.checkpointIoError.code);
    expect(run.launcher.cause()).toMatchObject({
      kind: 'checkpointIoError',
      checkpointFault: { kind: 'MountBroken' },
      message: expect.stringMatching(/could not be downloaded: Bucket nowhere does not exist at http/) as string,
    });
  });
});

describe('a gang on two nodes that share no disk', () => {
  let newest: SavedCheckpoint;

  it('reports a save once the bucket has the files of both', async () => {
    const runs = await trainOnTwoNodes(1, { steps: 1_000_000 });
    const [{ disk }, { disk: other }] = runs;
    try {
      await waitFor(() => saved(runs[0]).length >= 1, { what: 'a save', deadlineMs: 300_000 });
    } finally {
      for (const { launcher } of runs) launcher.child.kill('SIGKILL');
      await Promise.all(runs.map(exitOf));
    }
    newest = saved(runs[0]).at(-1) as SavedCheckpoint;
    const folder = `${GANG}/epoch-1/${newest.directory}`;
    const listed = (await bucket.list(folder)).map(({ path }) => path.slice(folder.length + 1));
    expect(listed.toSorted()).toEqual(['.metadata', '__0_0.distcp', '__1_0.distcp', 'manifest.json']);
    expect(newest).toMatchObject({ files: 3, verification: { level: 'V1', verdict: 'sound' } });
    expect(newest.contents?.tensors).toBeGreaterThan(0);
    for (const [node, rank] of [
      [disk, 1],
      [other, 0],
    ] as const)
      expect(readdirSync(join(node, folder))).not.toContain(`__${rank}_0.distcp`);
    expect(runs[0].operator.violations).toEqual([]);
  });

  it('goes on from it on two nodes whose disks are empty, and saves its last step before it ends', async () => {
    // The pods were killed within a save, so the bucket may hold a half of one.
    await bucket.write(`${GANG}/epoch-1/step-99999999/.coxswain-upload`, [Buffer.from('in parts')]);
    const { step, directory: name, manifestSha256 } = newest;
    const resume = { step, path: `${GANG}/epoch-1/${name}`, manifestSha256 };
    const runs = await trainOnTwoNodes(2, { steps: step + SAVES_EVERY, resume });
    // The other pod waits for some more seconds for another call.
    expect(await exitOf(runs[0])).toBe(0);
    expect(steps(runs[0])[0]?.step).toBe(step + 1);
    expect(saved(runs[0]).map((checkpoint) => checkpoint.step)).toEqual([step + SAVES_EVERY]);
    const left = (await bucket.list(GANG)).filter(({ path }) => path.includes('.coxswain-'));
    expect(left).toEqual([]);
    expect(runs[0].operator.violations).toEqual([]);
  });
});
