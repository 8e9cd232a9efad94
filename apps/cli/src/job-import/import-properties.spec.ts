import { JobCreate } from '@coxswain/api-types';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ImportError } from './import-error.ts';
import { importJob } from './import-job.ts';
import type { ImportedJob } from './imported-job.ts';
import { aPyTorchJob, aRuntime, aTrainJob } from './testing/documents.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples/import');
const exampleOf = (name: string): readonly unknown[] =>
  parseAllDocuments(readFileSync(join(EXAMPLES, name), 'utf8')).map((document) => document.toJS() as unknown);

/** Paths of all values that hold no other; null says nothing. */
function leavesOf(value: unknown, path: string): readonly string[] {
  if (value === null) return [];
  const inner =
    typeof value !== 'object' || value === null
      ? []
      : Array.isArray(value)
        ? value.map((item: unknown, index) => [`${path}[${index}]`, item] as const)
        : Object.entries(value).map(
            ([key, item]) =>
              [/^[A-Za-z_][\w-]*$/.test(key) ? `${path}.${key}` : `${path}["${key}"]`, item as unknown] as const,
          );
  return inner.length === 0 ? [path] : inner.flatMap(([at, item]) => leavesOf(item, at));
}

const WORDS = [
  'apiVersion',
  'kind',
  'metadata',
  'name',
  'spec',
  'template',
  'containers',
  'env',
  'value',
  'valueFrom',
  'secretKeyRef',
  'resources',
  'limits',
  'nvidia.com/gpu',
  'volumes',
  'volumeMounts',
  'command',
  'pytorchReplicaSpecs',
  'Master',
  'trainer',
  'runtimePatches',
  '__proto__',
  'constructor',
];
const scalar = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('bash', '-c', 'torchrun', 'auto', '8', '$(A)', '/data', ...WORDS),
);
const anything = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'medium' },
    scalar,
    fc.array(tie('node'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...WORDS), tie('node'), { maxKeys: 5 }),
  ),
})).node;

/** The documents with the value at one of their paths replaced. */
function replaced(documents: readonly unknown[], at: number, value: unknown): readonly unknown[] {
  let count = 0;
  const walk = (node: unknown): unknown => {
    if (count++ === at) return value;
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, walk(inner)]));
  };
  return walk(documents) as readonly unknown[];
}

/** The import; undefined where it is refused as it should be. */
function importedOrRefused(documents: readonly unknown[]): ImportedJob | undefined {
  try {
    return importJob(documents);
  } catch (error) {
    if (error instanceof ImportError) return undefined;
    throw error;
  }
}

const WHOLE: readonly (readonly unknown[])[] = [
  exampleOf('pytorch-job.yaml'),
  exampleOf('train-job.yaml'),
  [aPyTorchJob()],
  [aTrainJob(), aRuntime()],
];

describe('whatever stands in a file', () => {
  it('is imported or refused, and nothing else', () => {
    fc.assert(fc.property(fc.array(anything, { maxLength: 3 }), (documents) => void importedOrRefused(documents)));
  });

  it('what is imported is a valid job, and every field of the file is spoken of', () => {
    fc.assert(
      fc.property(fc.constantFrom(...WHOLE), fc.nat(200), anything, (documents, at, value) => {
        const changed = replaced(documents, at + 1, value);
        const imported = importedOrRefused(changed);
        if (imported === undefined) return;
        expect(JobCreate.safeParse(imported.job).error).toBeUndefined();
        const spoken = imported.report.map(({ from }) => from);
        const [job] = changed.filter((one) => !/Runtime/.test((one as { kind: string }).kind));
        const leaves = Object.entries(job as object).flatMap(([key, inner]) => leavesOf(inner, key));
        const silent = leaves.filter(
          (leaf) => !spoken.some((from) => leaf === from || leaf.startsWith(`${from}.`) || leaf.startsWith(`${from}[`)),
        );
        expect(silent).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('is refused where it is nested without end', () => {
    const endless: unknown[] = [];
    endless.push(endless);
    expect(() => importJob([aPyTorchJob({ pod: { magic: endless } })])).toThrow(ImportError);
    const specs = { Master: { template: { spec: { containers: [] }, endless } }, Worker: { template: endless } };
    expect(() => importJob([aPyTorchJob({ spec: { pytorchReplicaSpecs: specs } })])).toThrow(
      /nested more than 64 levels/,
    );
  });
});
