/** What the operator orders, the launcher of this release does, without a cluster: the test stands for the kubelet, and a script for DeepSpeed's converter. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { readdirSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { ConversionAnswer, DeletionQuestion, WorkerAnswer } from '@coxswain/api-types';
import { adoptedSave, adoptionProblem, converterLimitMs, isUniversal, layoutToLoad } from '@coxswain/checkpoint';
import { DirectoryStore } from '@coxswain/checkpoint-store';
import { withVerdict } from '@coxswain/lifecycle';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { conversionInBucket } from '../../../launcher/src/bucket/convert-in-bucket.ts';
import { verifyInBucket } from '../../../launcher/src/bucket/verify-in-bucket.ts';
import { runConversion } from '../../../launcher/src/checkpoints/convert-checkpoint.ts';
import { deleteCheckpoint, runDeletion } from '../../../launcher/src/checkpoints/delete-checkpoint.ts';
import { runWorker } from '../../../launcher/src/checkpoints/worker.ts';
import { aDeepSpeedSave } from '../../../launcher/src/testing/universal-converter.ts';
import { ConversionWorld } from '../testing/conversion-world.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures/deepspeed-0.19.8/zero1');
const IN_BUCKET = {
  claimName: '',
  bucket: { uri: 's3://training/runs', endpoint: 'https://s3.research', credentialsSecret: 'job-bucket' },
};
const ASKED = '-m deepspeed.checkpoint.ds_to_universal --input_folder save --output_folder universal';

interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

let root: string;
let claim: string;
let world: ConversionWorld;
let path: string;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-ordered-'));
  claim = join(root, 'claim');
  world = new ConversionWorld();
  await world.begin();
  path = world.source?.spec.path ?? '';
  cpSync(join(FIXTURES, 'global_step2'), join(claim, path), { recursive: true, preserveTimestamps: true });
  writeFileSync(join(claim, dirname(path), 'latest'), basename(path));
  python(`case "$*" in "${ASKED}"*) cp -R "${FIXTURES}/global_step2_universal/." universal/ ;; *) exit 9 ;; esac`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The program of that name in the trainer's image. */
function python(script: string): void {
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(join(root, 'bin/python3'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(root, 'bin/python3'), 0o755);
}

/** A path in the only pod, as the kubelet would mount it. The innermost mount counts. */
function mounted(inPod: string): string {
  const all = (world.pods[0]?.spec.containers[0]?.volumeMounts ?? []) as readonly Mount[];
  const mount = all
    .filter(({ mountPath }) => inPod.startsWith(`${mountPath}/`) || inPod === mountPath)
    .toSorted((one, other) => other.mountPath.length - one.mountPath.length)[0];
  if (mount?.name !== 'coxswain-checkpoints') throw new Error(`${inPod} is not in the claim`);
  const place = join(claim, mount.subPath ?? '');
  if (!existsSync(place)) throw new Error(`the kubelet makes ${place}, as root`);
  return join(place, inPod.slice(mount.mountPath.length));
}

/** Runs the conversion of the only pod. Returns its exit code, and its termination message if it wrote one. */
async function runPod(): Promise<{ readonly code: number; readonly message: string | undefined }> {
  const log = join(root, 'log');
  rmSync(log, { force: true });
  const [container] = world.pods[0]?.spec.containers ?? [];
  const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value.replaceAll('$$', '$')]));
  const order = JSON.parse(env['COXSWAIN_CONVERSION'] ?? '') as { readonly source: string; readonly target: string };
  const here = { ...order, source: mounted(order.source), target: mounted(order.target) };
  const code = await runConversion({
    ...env,
    COXSWAIN_CONVERSION: JSON.stringify(here),
    COXSWAIN_TERMINATION_LOG: log,
    PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`,
  });
  return { code, message: existsSync(log) ? readFileSync(log, 'utf8') : undefined };
}

/** Files below the claim, with their content; without those of the conversion. */
function others(): Readonly<Record<string, string>> {
  const entries = readdirSync(claim, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !file.includes('.coxswain-converted/'));
  return Object.fromEntries(entries.map((file) => [file.slice(claim.length), readFileSync(file, 'base64')]));
}

/** What a pod that verifies the converted save answers, recorded as the operator does. */
async function verified(): Promise<void> {
  const { converted } = world;
  const log = join(root, 'log');
  const directory = join(claim, converted?.spec.path ?? '');
  await runWorker(JSON.stringify({ directory, level: 'V2' }), { COXSWAIN_TERMINATION_LOG: log });
  const { verification, contents, files } = WorkerAnswer.parse(JSON.parse(readFileSync(log, 'utf8')));
  if (converted === undefined || verification === undefined) throw new Error('it was not read');
  const status = withVerdict(converted, { verification, contents, files, epoch: 1 });
  await world.change(converted, { status });
}

describe('the pod of a conversion', () => {
  it('makes the save that the job begins from next, and writes nothing else', async () => {
    const before = others();
    await world.reconcile(3);
    const { code, message } = await runPod();
    expect([code, ConversionAnswer.parse(JSON.parse(message ?? ''))]).toMatchObject([0, { state: 'Converted' }]);
    expect(others()).toEqual(before);
    await world.ends(message);
    await verified();
    const { converted, jobUid } = world;
    if (converted === undefined) throw new Error('it is gone');
    expect([converted.status, adoptionProblem(converted), world.errors]).toMatchObject([
      {
        state: 'Complete',
        conversion: { convertedAt: expect.any(String) as string },
        verification: { verdict: 'sound' },
      },
      undefined,
      [],
    ]);
    const { spec } = adoptedSave(converted, jobUid);
    expect([spec.step, spec.path]).toEqual([20, `${path}.coxswain-converted/global_step20_universal`]);
    expect(isUniversal(layoutToLoad(spec.layout, spec.format))).toBe(true);
    // DeepSpeed takes the last part for its tag, and reads these.
    expect(readdirSync(join(claim, spec.path))).toEqual(expect.arrayContaining(['mp_rank_00_model_states.pt', 'zero']));
  });

  it('has more time than the converter, which says what happened when its own is over', async () => {
    await world.reconcile(3);
    const { activeDeadlineSeconds = 0 } = (world.pods[0]?.spec ?? {}) as { readonly activeDeadlineSeconds?: number };
    expect(activeDeadlineSeconds * 1_000).toBeGreaterThan(converterLimitMs(world.source?.spec.bytes ?? Infinity));
  });

  it('is repeated if it had to end midway, or was killed, and goes on after what that one left', async () => {
    await world.reconcile(3);
    python(`touch "${root}/begun"; exec sleep 1000`);
    const changes = watch(root);
    const begun = once(changes, 'change');
    const ended = runPod();
    await begun;
    changes.close();
    process.emit('SIGTERM');
    const { code, message } = await ended;
    expect([code, message]).toEqual([143, undefined]);
    await world.ends('', 'Failed');
    expect(world.conversion).toMatchObject({ tries: 1 });
    const made = join(claim, world.converted?.spec.path ?? '');
    mkdirSync(join(made, '.coxswain-draft-of-one-that-was-killed/universal/zero'), { recursive: true });
    await world.script.clock.advance(61_000);
    await world.reconcile();
    python(`cp -R "${FIXTURES}/global_step2_universal/." universal/`);
    await world.ends((await runPod()).message);
    expect(world.conversion).toMatchObject({
      convertedAt: expect.any(String) as string,
      writtenBytes: expect.any(Number) as number,
    });
    expect(readdirSync(made).toSorted()).toEqual(['.coxswain-conversion', 'mp_rank_00_model_states.pt', 'zero']);
  });

  it('leads to no verification of the save if it was not at fault', async () => {
    await world.reconcile(3);
    mkdirSync(join(claim, world.converted?.spec.path ?? ''), { recursive: true });
    writeFileSync(join(claim, world.converted?.spec.path ?? '', 'notes.txt'), 'of a user');
    await world.ends((await runPod()).message);
    expect(world.conversion).toEqual({
      ...{ orderedAt: expect.any(String) as string, failedAt: expect.any(String) as string },
      problem: expect.stringMatching(/is not empty: it holds notes\.txt\. Name an empty directory$/) as string,
    });
  });

  it('is taken back with all that it made, and nothing else', async () => {
    const before = others();
    await world.reconcile(3);
    await world.ends((await runPod()).message);
    await world.want(false);
    await world.forgetSource();
    world.see();
    await world.reconcile(2);
    const question = DeletionQuestion.parse(JSON.parse(world.pods[0]?.spec.containers[0]?.command.at(-1) ?? ''));
    const saves = mounted('/coxswain/save');
    const answer = await deleteCheckpoint(question, {
      claim: new DirectoryStore(mounted('/coxswain/checkpoints')),
      saves: new DirectoryStore(dirname(saves)),
      folder: basename(saves),
    });
    await world.ends(answer);
    expect([answer, world.converted, world.errors]).toMatchObject([{ outcome: 'Deleted' }, undefined, []]);
    expect([others(), existsSync(join(claim, `${path}.coxswain-converted`))]).toEqual([before, false]);
  });
});

describe('the pod of a conversion in a bucket', () => {
  it('makes the save that the job begins from next, and another one deletes it with its folder', async () => {
    const { files, manifestSha256 } = aDeepSpeedSave();
    const bucket = new MemoryStore(
      Object.fromEntries(Object.entries(files).map(([name, bytes]) => [`${path}/${name}`, bytes])),
    );
    const before = [...bucket.files.keys()];
    await world.change(world.source, { spec: { ...IN_BUCKET, manifestSha256 } });
    await world.reconcile(3);
    const open = (): Promise<MemoryStore> => Promise.resolve(bucket);
    const log = join(root, 'log');
    const [container] = world.pods[0]?.spec.containers ?? [];
    const env = Object.fromEntries((container?.env ?? []).map(({ name, value = '' }) => [name, value]));
    const code = await runConversion(
      { ...env, COXSWAIN_TERMINATION_LOG: log, PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}` },
      { inBucket: conversionInBucket(open, { disk: join(root, 'disk') }) },
    );
    await world.ends(readFileSync(log, 'utf8'));
    const { converted } = world;
    if (converted === undefined) throw new Error('it is gone');
    const directory = `/coxswain/checkpoints/${converted.spec.path}`;
    const { verification, contents, files: listed } = await verifyInBucket(bucket, { directory }, { level: 'V2' });
    if (verification === undefined) throw new Error('it was not read');
    await world.change(converted, {
      status: withVerdict(converted, { verification, contents, files: listed, epoch: 1 }),
    });
    const verified = world.converted ?? converted;
    expect([code, adoptionProblem(verified), world.errors]).toEqual([0, undefined, []]);
    const { spec } = adoptedSave(verified, world.jobUid);
    expect([spec.step, spec.bucket, isUniversal(layoutToLoad(spec.layout, spec.format))]).toEqual([
      20,
      IN_BUCKET.bucket,
      true,
    ]);
    await world.want(false);
    await world.forgetSource();
    world.see();
    await world.reconcile(2);
    await runDeletion(world.pods[0]?.spec.containers[0]?.command.at(-1) ?? '', { COXSWAIN_TERMINATION_LOG: log }, open);
    await world.ends(readFileSync(log, 'utf8'));
    expect([world.converted, [...bucket.files.keys()], world.errors]).toEqual([undefined, before, []]);
  });
});
