import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const FIXTURES = resolve(import.meta.dirname, '../../../../libs/checkpoint/fixtures');
const SAVE = join(FIXTURES, 'dcp-2.15.0');
const NO_LAYOUT =
  /It is a list of tp, pp, fsdp, each a number from 1 to 100000, such as tp=4,pp=32,fsdp=2; "[^"]+" is none of them/;

let target: string;
beforeEach(() => {
  target = join(mkdtempSync(join(tmpdir(), 'coxswain-reshard-')), 'new');
});
afterEach(() => rmSync(join(target, '..'), { recursive: true }));

const reshard = (source: string, ...argv: readonly string[]): Promise<OfflineOutcome> =>
  runOffline({}, 'checkpoint', 'reshard', source, target, ...argv);

describe('checkpoint reshard', () => {
  it('says with --plan what it would read and write, and writes nothing', async () => {
    const { out, code } = await reshard(SAVE, '--ranks', '3', '--plan');
    expect([code, existsSync(target)]).toEqual([0, false]);
    expect(out).toMatch(/^PIECE +SIZE +TENSORS +CHUNKS READ +CHUNKS WRITTEN +FILES\n0 /);
    expect(out).toMatch(
      /\n\n[\d.]+ KiB are read once and written once\. Nothing was written: leave out --plan to write the save\.\nKept as the ranks that saved it stored it, position in the data: loader\.position\. At another number of data-parallel ranks an engine can refuse it, or starts without it\.$/,
    );
  });

  it('says with --layout and --worker which share is largest, and which tensors tensor parallelism does not divide', async () => {
    const { out } = await reshard(SAVE, '--layout', 'tp=2,fsdp=2', '--worker', '0/2', '--plan');
    expect(out).toMatch(
      /The largest share of a worker is [\d.]+ KiB\. \d+ tensors, such as model\.\w+, have names that tensor parallelism is not known to divide/,
    );
  });

  it('prints with --job an indexed Job whose workers have one share each, and writes nothing', async () => {
    const job = await runOffline(
      {},
      ...['checkpoint', 'reshard', 'runs/step-1', '/resharded/step-1', '--layout', 'tp=2,fsdp=4'],
      ...['--job', 'reshard-1', '--claim', 'tiny', '--workers', '6', '--image', 'mirror/cli:1'],
    );
    const { metadata, spec } = parse(job.out) as { metadata: object; spec: { template: { spec: object } } };
    expect([job.code, metadata, spec]).toMatchObject([
      0,
      { name: 'reshard-1' },
      { completionMode: 'Indexed', completions: 6, parallelism: 6, backoffLimitPerIndex: 6 },
    ]);
    expect(spec.template.spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [
        {
          image: 'mirror/cli:1',
          args: [
            ...['checkpoint', 'reshard', '/checkpoints/runs/step-1', '/checkpoints/resharded/step-1'],
            ...['--layout', 'tp=2,pp=1,fsdp=4', '--worker', '$(JOB_COMPLETION_INDEX)/6'],
          ],
          volumeMounts: [{ mountPath: '/tmp' }, { mountPath: '/checkpoints' }],
        },
      ],
      volumes: [{ emptyDir: {} }, { persistentVolumeClaim: { claimName: 'tiny' } }],
    });
  });

  it('writes the save of a layout, which is sound', async () => {
    expect((await reshard(SAVE, '--layout', 'tp=2,fsdp=2')).out).toMatch(/^The save in .* is complete: /);
    expect((await runOffline({}, 'checkpoint', 'verify', target)).out).toMatch(/^Sound as far as V3 sees: format dcp/);
  });

  it('writes the save, and does nothing when it is run again', async () => {
    expect((await reshard(SAVE, '--ranks', '3')).out).toMatch(
      /^The save in .* is complete: [\d.]+ KiB read, 1 piece written\.\nKept as .*: loader\.position\./,
    );
    const files = readdirSync(target);
    expect((await reshard(SAVE, '--ranks', '3')).out).toMatch(
      / is complete: 0 B read, 0 pieces written; already there: 1\.\n/,
    );
    expect(readdirSync(target)).toEqual(files);
    const { out, code } = await runOffline({}, 'checkpoint', 'verify', target);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Sound as far as V3 sees: format dcp/)]);
  });

  it.each<[string, readonly string[], RegExp]>([
    [
      'a Job without the claim that pods need',
      [SAVE, '--ranks', '2', '--job', 'x'],
      /^Pods do not see .*dcp-2\.15\.0\. Name the claim that holds it: --claim NAME\. Source and target are then paths in the claim\.$/m,
    ],
    [
      'a Job of a size that only pods see, without a number of workers',
      ['runs/step-1', '--ranks', '2', '--job', 'x', '--claim', 'tiny'],
      /^The size of runs\/step-1 cannot be read here, because it is in a claim\. Name --workers COUNT\.$/m,
    ],
    [
      'a save of another format',
      [join(FIXTURES, 'hugging-face-5.23.0/indexed'), '--ranks', '2'],
      /is no save of PyTorch DCP \(format [-a-z]+\); only those are divided anew\. "coxswain checkpoint loads" says who loads it\./,
    ],
    [
      'a folder without a save',
      [join(FIXTURES, 'deepspeed-0.19.8'), '--ranks', '2'],
      /deepspeed-0\.19\.8 is no save\. No file here belongs to a known format of checkpoints\. Name the directory of one save\./,
    ],
    [
      'a folder that does not exist',
      ['/no/such/folder', '--ranks', '2'],
      /\/no\/such\/folder is no directory\. Name the directory of one save/,
    ],
    ['no number of ranks', [SAVE], /Name the ranks that are to load it: --ranks COUNT, or --layout tp=4,pp=32\./],
    ['ranks beside a layout', [SAVE, '--ranks', '2', '--layout', 'tp=2'], /'--layout <degrees>' cannot be used with/],
    ['a degree without a number', [SAVE, '--layout', 'tp'], NO_LAYOUT],
    ['a degree of 0', [SAVE, '--layout', 'tp=0'], NO_LAYOUT],
    ['a degree that does not divide states', [SAVE, '--layout', 'cp=2'], NO_LAYOUT],
    ['degrees that are no list', [SAVE, '--layout', 'tp=2;pp=2'], NO_LAYOUT],
    ['a layout of too many ranks', [SAVE, '--layout', 'tp=400,pp=400'], /It has more than 100000 ranks\./],
    [
      'a worker beyond the last',
      [SAVE, '--ranks', '2', '--worker', '4/4'],
      /It is INDEX\/COUNT, such as 0\/4; the first worker has index 0\./,
    ],
  ])('refuses %s', async (_what, argv, message) => {
    const [source = '', ...options] = argv;
    const { err, code } = await reshard(source, ...options);
    expect([code === 0, existsSync(target)]).toEqual([false, false]);
    expect(err).toMatch(message);
  });

  it('refuses a save in which two saves can be mixed, and a target inside of the save', async () => {
    const mixed = join(target, '../mixed');
    cpSync(SAVE, mixed, { recursive: true });
    utimesSync(join(mixed, '.metadata'), 1_000, 1_000);
    expect((await reshard(mixed, '--ranks', '2')).err).toMatch(/ is suspect: .* two saves can be mixed here/);
    const inside = await runOffline({}, 'checkpoint', 'reshard', SAVE, join(SAVE, 'new'), '--ranks', '2');
    expect(inside.err).toMatch(/are one in the other\. Name a target outside of the source\./);
  });

  it('refuses more pipeline stages than the save has layers', async () => {
    const llama = join(FIXTURES, 'models-5.23.0/llama');
    const layers = join(target, '../layers');
    await runOffline({}, 'checkpoint', 'convert', llama, layers, '--to', 'dcp', '--names', 'torchtitan');
    expect((await reshard(layers, '--layout', 'pp=9')).err).toMatch(
      /^pp=9 has more pipeline stages than the \d layers/,
    );
    expect(existsSync(target)).toBe(false);
  });

  it('refuses a damaged save, and a target that holds something else', async () => {
    const damaged = join(target, '../damaged');
    cpSync(SAVE, damaged, { recursive: true });
    rmSync(join(damaged, '__3_0.distcp'));
    expect((await reshard(damaged, '--ranks', '2')).err).toMatch(
      / is incomplete: File __3_0\.distcp is not there.* Use another save\./,
    );
    cpSync(FIXTURES, target, { recursive: true, filter: (path) => path === FIXTURES });
    writeFileSync(join(target, 'notes.txt'), 'x');
    expect((await reshard(SAVE, '--ranks', '2')).err).toMatch(
      /is not empty: it holds notes\.txt, and no part of this save\. Name an empty directory\./,
    );
  });
});
