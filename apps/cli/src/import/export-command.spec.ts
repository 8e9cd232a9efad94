import { JobCreate } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readJobFile } from '../job-files/job-file.ts';
import { runOffline } from '../testing/run-offline.ts';
import { EXPORT_FORMS, EXPORTED_JOB, exportedJob, type ExportForm } from './exported-job.ts';
import { importFile } from './import-file.ts';

const JOBS = join(import.meta.dirname, '../../../../examples/jobs');
const files = readdirSync(JOBS).map((name) => join(JOBS, name));
/** The planner chooses the layout of the others. */
const shipped = files.map((file) => readJobFile(file)).filter(({ spec }) => spec.layout !== undefined);
const cases = shipped.flatMap((job) => EXPORT_FORMS.map((form) => [job.name, form, job] as const));

describe('a job that is exported', () => {
  it.each(cases)('%s as %s is imported as the same job', (_name, form, job) => {
    expect(JobCreate.parse(importFile(exportedJob(job, form)).job)).toEqual(job);
  });

  /** A starter of the engine's own is inside of the rendered script. */
  const plain = cases.filter(([, , { spec }]) => spec.engine.startedBy === undefined);

  it.each(plain)('%s as %s has as many ranks without the job that it holds', (_name, form, job) => {
    const text = exportedJob(job, form).replaceAll(EXPORTED_JOB, 'example.com/other');
    const imported = JobCreate.parse(importFile(text).job);
    const ranks = ({ spec }: JobCreate): number => (spec.layout === undefined ? 0 : worldSize(spec.layout));
    expect([imported.name, ranks(imported)]).toEqual([job.name, ranks(job)]);
  });

  it('and then edited is imported by its fields', () => {
    const [job] = shipped;
    if (job === undefined) throw new Error('no example');
    const text = exportedJob(job, 'jobset').replace(/image: .*/, 'image: example.com/edited:2');
    const imported = importFile(text);
    expect(imported.job.spec.engine.image).toBe('example.com/edited:2');
    expect(imported.report.map(({ why }) => why)).toContain('the file was changed since, so its fields count');
  });

  it('and defaulted by an API server is imported as the same job', () => {
    const [job] = shipped;
    if (job === undefined) throw new Error('no example');
    const object = parse(exportedJob(job, 'pytorchjob')) as { metadata: object };
    const stored = { ...object, metadata: { ...object.metadata, uid: 'x', generation: 1 }, status: { conditions: [] } };
    expect(JobCreate.parse(importFile(JSON.stringify(stored)).job)).toEqual(job);
  });

  it('starts the plain program by torchrun, on each node', () => {
    const job = readJobFile(join(JOBS, 'one-gpu.yaml'));
    expect(JobCreate.safeParse(job).success).toBe(true);
    const plain = JobCreate.parse({
      name: 'plain',
      spec: {
        engine: { name: 'command', image: 'i:1', command: ['python3', 'a.py', '--x', 'a b'] },
        layout: { dataParallelDegree: 16 },
        resources: { gpusPerNode: 8 },
      },
    });
    expect(exportedJob(plain, 'sbatch')).toContain(
      `torchrun --nnodes=2 --nproc-per-node=8 --node-rank=$SLURM_NODEID --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT --no-python python3 a.py --x`,
    );
  });
});

describe('coxswain export', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'coxswain-export-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  it('writes a file that coxswain import reads', async () => {
    const out = join(directory, 'jobset.yaml');
    const written = await runOffline({}, 'export', '--as', 'jobset', join(JOBS, 'any-program.yaml'), '--out', out);
    const { code, out: yaml } = await runOffline({}, 'import', out);
    expect([written.code, code, yaml.split('\n')[2]]).toEqual([0, 0, 'apiVersion: training.coxswain.dev/v1alpha1']);
  });

  it.each<[string, readonly string[], RegExp]>([
    ['no form', [join(JOBS, 'any-program.yaml')], /required option '--as <form>'/],
    [
      'a job whose layout the planner chooses',
      ['--as', 'sbatch', join(JOBS, 'gpt-auto.yaml')],
      /other systems have no planner/,
    ],
  ])('refuses %s', async (_what, argv, want) => {
    const { code, err } = await runOffline({}, 'export', ...argv);
    expect([code, err]).toEqual([1, expect.stringMatching(want)]);
  });

  it('knows every form', () => {
    expect(EXPORT_FORMS satisfies readonly ExportForm[]).toHaveLength(4);
  });
});
