import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConversionAnswer } from '@coxswain/api-types';
import { StoreError } from '@coxswain/checkpoint-store';
import { MemoryStore } from '@coxswain/checkpoint-store/testing';
import { convertCheckpoint } from '../checkpoints/convert-checkpoint.ts';
import { aDeepSpeedSave, aUniversalConverter } from '../testing/universal-converter.ts';
import { conversionInBucket } from './convert-in-bucket.ts';
import { verifyInBucket } from './verify-in-bucket.ts';

const SAVE = aDeepSpeedSave();
const [SOURCE, TARGET] = [
  'run/epoch-1/global_step2',
  'run/epoch-1/global_step2.coxswain-converted/global_step2_universal',
];

let root: string;
let pod = 0;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'coxswain-bucket-conversion-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function aBucket(more: Readonly<Record<string, string>> = {}): MemoryStore {
  const own = Object.entries(SAVE.files).map(([path, bytes]) => [`${SOURCE}/${path}`, bytes] as const);
  const others = Object.entries(more).map(([path, text]) => [path, Buffer.from(text)] as const);
  return new MemoryStore(Object.fromEntries([...own, ...others]));
}

/** A pod on a node whose disk is empty. */
async function convert(
  bucket: MemoryStore | undefined,
  { converter = aUniversalConverter(root) }: { readonly converter?: readonly string[] } = {},
): Promise<ConversionAnswer> {
  const order = { kind: 'DeepSpeedUniversal', source: SOURCE, target: TARGET, isInBucket: true };
  return await convertCheckpoint(JSON.stringify({ ...order, manifestSha256: SAVE.manifestSha256 }), {
    nowMs: () => 0,
    logLine: () => undefined,
    signal: new AbortController().signal,
    environment: {},
    universalConverter: converter,
    inBucket: conversionInBucket(() => Promise.resolve(bucket), {
      disk: join(root, `disk-${++pod}`),
      pause: () => Promise.resolve(),
    }),
  });
}

const inTarget = (bucket: MemoryStore): readonly string[] =>
  [...bucket.files.keys()].flatMap((path) => (path.startsWith(`${TARGET}/`) ? path.slice(TARGET.length + 1) : []));

const contentsOf = (bucket: MemoryStore): readonly string[] =>
  [...bucket.files].map(([path, bytes]) => `${path} ${createHash('sha256').update(bytes).digest('hex')}`).toSorted();

describe('the conversion of a save in a bucket', () => {
  it('publishes the new save in the bucket, changes nothing else there, and reports what it wrote', async () => {
    const bucket = aBucket();
    const answer = await convert(bucket);
    expect(answer).toMatchObject({
      state: 'Converted',
      manifestSha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(answer.writtenBytes).toBeGreaterThan(20_000);
    expect(
      await verifyInBucket(bucket, { directory: `/coxswain/checkpoints/${TARGET}` }, { level: 'V3' }),
    ).toMatchObject({
      verification: { verdict: 'sound' },
      contents: { format: 'deepspeed-universal' },
      files: { manifestSha256: answer.manifestSha256 },
    });
    expect(
      inTarget(bucket)
        .filter((path) => !path.startsWith('zero/'))
        .toSorted(),
    ).toEqual(['.coxswain-conversion', 'manifest.json', 'mp_rank_00_model_states.pt']);
    expect(contentsOf(bucket)).toEqual(expect.arrayContaining([...contentsOf(aBucket())]));
  });

  it('leaves a target that holds the save as it is, and starts no converter', async () => {
    const bucket = aBucket();
    const { manifestSha256 } = await convert(bucket);
    const before = contentsOf(bucket);
    const again = await convert(bucket, { converter: ['/no/such/python'] });
    expect([again.state, again.manifestSha256, contentsOf(bucket)]).toEqual(['Converted', manifestSha256, before]);
  });

  it('that is killed leaves no save, or the whole one, and the next pod completes it', async () => {
    const whole = aBucket();
    await convert(whole);
    let isAlive = false;
    // Marker of the conversion, marker of the upload, 15 files, manifest, end of the marker of the upload.
    for (const writes of [0, 1, 2, 9, 16, 17, 18, 19]) {
      const bucket = aBucket();
      bucket.writesLeft = writes;
      isAlive = (await convert(bucket)).state === 'Converted';
      const isPublished = inTarget(bucket).includes('manifest.json');
      const isMarked = inTarget(bucket).includes('.coxswain-upload');
      expect([writes, isPublished]).toEqual([writes, isAlive || (isMarked && isPublished)]);
      bucket.writesLeft = Infinity;
      await convert(bucket);
      expect([writes, contentsOf(bucket)]).toEqual([writes, contentsOf(whole)]);
    }
    expect(isAlive).toBe(true);
  });

  it.each<[what: string, bucket: () => MemoryStore | undefined, message: RegExp, isTargetUnusable: true | undefined]>([
    ['where no bucket is named', () => undefined, /^No bucket is named in the environment of the pod\.$/, true],
    [
      'into a folder of a user',
      () => aBucket({ [`${TARGET}/notes.txt`]: 'mine' }),
      /global_step2_universal is not empty: it holds notes\.txt\. Name an empty folder\.$/,
      true,
    ],
    [
      'into a folder of another conversion',
      () => aBucket({ [`${TARGET}/.coxswain-conversion`]: 'b'.repeat(64) }),
      / already belongs to another save\. Name an empty folder\.$/,
      true,
    ],
    [
      'that was published and lost files since',
      () =>
        aBucket({
          [`${TARGET}/.coxswain-conversion`]: SAVE.manifestSha256,
          [`${TARGET}/manifest.json`]: JSON.stringify({
            ...{
              formatVersion: 1,
              engine: 'deepspeed',
              format: 'deepspeed-universal',
              step: 2,
              layout: {},
              training: {},
            },
            files: [{ path: 'zero/x', bytes: 4 }],
          }),
        }),
      / lacks files that its manifest\.json lists\. Delete it\.$/,
      true,
    ],
    [
      'of a save with other bytes than were saved',
      () => aBucket({ [`${SOURCE}/mp_rank_00_model_states.pt`]: 'other' }),
      /^run\/epoch-1\/global_step2\/mp_rank_00_model_states\.pt in memory has 5 bytes, not \d+ bytes$/,
      undefined,
    ],
    [
      'where the store does not answer',
      () => {
        const bucket = aBucket();
        bucket.list = () => Promise.reject(new StoreError('Unreachable', 'The store is silent.'));
        return bucket;
      },
      /^The store is silent\.$/,
      true,
    ],
  ])('fails %s, and says whether the save can be at fault', async (_what, bucket, message, isTargetUnusable) => {
    const answer = await convert(bucket());
    expect([answer.state, answer.message, answer.isTargetUnusable]).toEqual([
      'Failed',
      expect.stringMatching(message) as string,
      isTargetUnusable,
    ]);
  });

  it('goes on once a store that was away is back', async () => {
    const bucket = aBucket();
    const list = bucket.list.bind(bucket);
    let away = 3;
    bucket.list = async (folder) => {
      if (away-- > 0) throw new StoreError('Unreachable', 'The store is silent.');
      return await list(folder);
    };
    expect(await convert(bucket)).toMatchObject({ state: 'Converted' });
  });
});
