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

  const EDITS: Readonly<Record<ExportForm, (text: string) => string>> = {
    jobset: (text) => doubled(text, /(parallelism|completions): (\d+)/g),
    trainjob: (text) => doubled(text, /(numNodes): (\d+)/g),
    pytorchjob: (text) => text,
    sbatch: (text) => doubled(text, /(#SBATCH --nodes)=(\d+)/g),
  };
  /** Each number, doubled. */
  function doubled(text: string, pattern: RegExp): string {
    return text.replaceAll(pattern, (found, _name: string, count: string) =>
      found.replace(count, String(2 * Number(count))),
    );
  }

  it.each(cases.filter(([, , { spec }]) => spec.engine.image !== undefined))(
    '%s as %s with another image and more nodes is imported as the job with these',
    (_name, form, job) => {
      const image = 'example.com/edited:2';
      const text = exportedJob(job, form)
        .replaceAll(/image: .*/g, `image: ${image}`)
        .replace(/container-image=\S+/, `container-image=${image}`);
      const { layout, engine } = job.spec;
      const grows = form === 'pytorchjob' || layout === undefined ? 1 : 2;
      const { spec } = JobCreate.parse(importFile(EDITS[form](text)).job);
      expect(spec).toEqual({
        ...job.spec,
        resources:
          grows === 1 ? job.spec.resources : { gpusPerNode: spec.resources.gpusPerNode, ...job.spec.resources },
        engine: { ...engine, image },
        layout: layout && { ...layout, dataParallelDegree: layout.dataParallelDegree * grows },
      });
    },
  );

  it.each(EXPORT_FORMS)('as %s with other variables is imported as the job with these', (form) => {
    const plain = JobCreate.parse({
      name: 'plain',
      spec: {
        engine: {
          name: 'command',
          image: 'i:1',
          command: ['python3', 'a.py'],
          env: [
            { name: 'KEPT', value: 'a b' },
            { name: 'LEVEL', value: 'low' },
          ],
        },
        layout: { dataParallelDegree: 16 },
        resources: { gpusPerNode: 8 },
      },
    });
    const text = exportedJob(plain, form)
      .replaceAll(/value: low/g, 'value: high')
      .replace('export LEVEL=low', 'export LEVEL=high\nexport NEW=1');
    const { job, report } = importFile(text);
    expect(job.spec.engine.env).toEqual([
      { name: 'KEPT', value: 'a b' },
      { name: 'LEVEL', value: 'high' },
      ...(form === 'sbatch' ? [{ name: 'NEW', value: '1' }] : []),
    ]);
    expect({ ...job.spec.engine, env: [] }).toEqual({ ...plain.spec.engine, env: [] });
    expect(report.map(({ from }) => from)).toContain('variable LEVEL, edited');
  });

  it.each<[string, (text: string) => string]>([
    [
      'a field that the job does not have',
      (text) => text.replace('completionMode: Indexed', 'completionMode: NonIndexed'),
    ],
    ['a line of the script', (text) => text.replace(/torchrun --/, 'torchrun --tee=3 --')],
    ['a field that is gone', (text) => text.replace(/ *backoffLimit: 0\n/, '')],
    ['nodes that do not divide', (text) => text.replace(/completions: \d+/, 'completions: 3')],
  ])('and then edited in the image and in %s is imported by its fields', (_what, edit) => {
    const job = readJobFile(join(JOBS, 'any-program.yaml'));
    const imported = importFile(edit(exportedJob(job, 'jobset').replace(/image: .*/, 'image: edited:2')));
    expect(imported.report.map(({ why }) => why)).toContain('the file was changed since, so its fields count');
  });

  it('and edited beside another object is imported as the job with the edit', () => {
    const job = readJobFile(join(JOBS, 'any-program.yaml'));
    const text = exportedJob(job, 'jobset').replace(/image: .*/, 'image: edited:2');
    const claim = '---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: { name: checkpoints }\n';
    expect(importFile(`${text}${claim}`).job.spec.engine.image).toBe('edited:2');
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
