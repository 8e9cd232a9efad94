/** A message that names a field names one that exists, and pages agree with `coxswain engines` about what engines do. */
import { engineList } from '@coxswain/engines';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messagesOf, unknownFields } from './named-fields.ts';
import { unsupportedClaims } from './claims-of-engines.ts';

const ROOT = join(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** Tables whose texts describe constants and sources, beside the names of constants. */
const TABLES = /libs\/planner\/src\/(time\/constants|presets\/(gpus|models))\.ts$/;
const sourcesOf = (folder: string): readonly string[] =>
  globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }).filter(
    (path) => !/\.i?spec\.ts$|itest|\/testing\//.test(path) && !TABLES.test(path),
  );

describe('a message that names a field', () => {
  it.each([
    'libs/api-types',
    'libs/engines',
    'libs/fabric',
    'libs/job-planning',
    'libs/layout',
    'libs/lifecycle',
    'libs/planner',
    'libs/runtime',
    'libs/scheduling',
    'apps/cli',
    'apps/api',
    'apps/operator',
  ])('of %s names one that exists', (folder) => {
    const messages = sourcesOf(folder).flatMap((path) =>
      messagesOf(textOf(path)).map((message) => ({ path, message })),
    );
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.flatMap((one) => unknownFields(one.message).map((field) => ({ ...one, field })))).toEqual([]);
  });

  it.each<[string, string, readonly string[]]>([
    ['is found if a path of the job does not exist', 'set training.batchSize to 8 instead', ['training.batchSize']],
    ['is found behind "spec."', 'give spec.layout.tensorDegree a value of 8', ['spec.layout.tensorDegree']],
    ['is found if a word alone does not exist', 'lower hostMemoryGigabytes to 64 or less', ['hostMemoryGigabytes']],
    ['is found in a list', 'leave out data.paths.weigth of the second path', ['data.paths.weigth']],
    ['is no complaint for a field of a list', 'lower data.paths.weight of the second path', []],
    ['is no complaint for a field of a layout document', 'set mesh.gpusPerNode to 8 instead', []],
    ['is no complaint for an option of an engine', 'leave out model.tp_comm_overlap in engine.args', []],
  ])('%s', (_sentence, message, want) => {
    expect(unknownFields(message)).toEqual(want);
  });

  it('is read from templates too', () => {
    const [message = ''] = messagesOf('const a = `${name} needs training.batchSize of ${size} at least`;');
    expect(unknownFields(message)).toContain('training.batchSize');
  });
});

describe('what a page says that an engine does', () => {
  const { items } = engineList();
  const pages = globSync('{README.md,docs/**/*.md,examples/*.md,engines/**/README.md}', { cwd: ROOT }).filter(
    (path) => !/docs\/adr|generated|reference\/engines\.md|node_modules/.test(path),
  );

  it('agrees with `coxswain engines`', () => {
    expect(
      pages.flatMap((path) => unsupportedClaims(textOf(path), items).map((claim) => ({ path, ...claim }))),
    ).toEqual([]);
  });

  it.each<[string, string, readonly object[]]>([
    [
      'an option that it lacks',
      'Engine `hugging-face` supports tensor parallelism.',
      [{ engine: 'hugging-face', what: 'tensorParallelDegree' }],
    ],
    ['a schedule that it lacks', 'Engine `deepspeed` supports `zbv`.', [{ engine: 'deepspeed', what: 'zbv' }]],
    ['that it lacks what it has', 'TorchTitan does not support `zbv`.', [{ engine: 'torchtitan', what: 'zbv' }]],
    ['nothing untrue', 'TorchTitan supports `zbv`. DeepSpeed does not support `zbv`.', []],
  ])('is compared where it claims %s', (_sentence, text, want) => {
    expect(unsupportedClaims(text, items)).toMatchObject(want);
  });
});
