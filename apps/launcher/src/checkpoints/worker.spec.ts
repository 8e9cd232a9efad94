import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_TERMINATION_MESSAGE_BYTES, WorkerAnswer } from '@coxswain/api-types';
import { aVerification, someContents } from '@coxswain/api-types/testing';
import { fitAnswer, runWorker } from './worker.ts';
import { aCheckpointIn } from '../testing/a-checkpoint.ts';
import { aDcpCheckpointIn } from '../testing/a-dcp-checkpoint.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-worker-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function answer(question: unknown): Promise<WorkerAnswer> {
  const path = join(root, 'termination-log');
  const environment = { COXSWAIN_NODE_NAME: 'node-a', COXSWAIN_TERMINATION_LOG: path };
  expect(await runWorker(typeof question === 'string' ? question : JSON.stringify(question), environment)).toBe(0);
  return WorkerAnswer.parse(JSON.parse(readFileSync(path, 'utf8')));
}

it('reads all bytes and answers by the termination message', async () => {
  const { directory, manifestSha256 } = aDcpCheckpointIn(root);
  expect(await answer({ directory: join(root, directory), manifestSha256, level: 'V3' })).toMatchObject({
    version: 1,
    verification: { level: 'V3', verdict: 'sound', by: 'Worker', node: 'node-a' },
    contents: { tensors: 6 },
  });
});

describe('a directory without a known manifest', () => {
  it('is described with all of its files', async () => {
    const { directory, manifestSha256 } = aDcpCheckpointIn(root);
    const { files, ...seen } = await answer({ directory: join(root, directory), level: 'V2' });
    expect(seen).toMatchObject({ verification: { level: 'V2', verdict: 'sound' }, contents: { format: 'dcp' } });
    expect(files).toMatchObject({ manifestSha256, count: readdirSync(join(root, directory)).length });
  });

  it('has another list of files once one was added', async () => {
    const { directory } = aDcpCheckpointIn(root);
    const before = await answer({ directory: join(root, directory), level: 'V1' });
    writeFileSync(join(root, directory, 'more'), 'x');
    const after = await answer({ directory: join(root, directory), level: 'V1' });
    expect(after.files?.sha256).not.toBe(before.files?.sha256);
    expect(after.files?.bytes).toBe((before.files?.bytes ?? 0) + 1);
  });

  it('is not described where no reader knows its format', async () => {
    writeFileSync(join(root, 'notes.txt'), 'x');
    expect((await answer({ directory: root, level: 'V2' })).unread).toMatch(/no reader knows/);
  });
});

it.each<[what: string, question: (save: { directory: string; manifestSha256: string }) => unknown, unread: RegExp]>([
  ['of a format that no reader knows', (save) => ({ ...save, level: 'V3' }), /no reader knows/],
  ['whose manifest is another one', (save) => ({ ...save, manifestSha256: 'f'.repeat(64), level: 'V3' }), /SHA-256/],
  ['that is not there', (save) => ({ ...save, directory: '/no/such', level: 'V3' }), /ENOENT/],
  ['with a level that does not exist', (save) => ({ ...save, level: 'V9' }), /level/],
  ['that is no JSON', () => '{', /JSON/],
])('says why a save %s was not read', async (_what, question, unread) => {
  const { directory, manifestSha256 } = aCheckpointIn(root);
  const asked = question({ directory: join(root, directory), manifestSha256 });
  expect((await answer(asked)).unread).toMatch(unread);
});

it('asks the bucket of the checkpoint, and answers why it cannot be read', async () => {
  const { directory, manifestSha256 } = aDcpCheckpointIn(root);
  const path = join(root, 'termination-log');
  const question = JSON.stringify({ directory: join(root, directory), manifestSha256, level: 'V3' });
  await runWorker(question, { COXSWAIN_TERMINATION_LOG: path }, () => Promise.reject(new Error('denied')));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ version: 1, unread: 'denied' });
});

it.each([
  ['many findings', { contents: someContents() }],
  ['many names', { contents: someContents({ degrees: namesOf(16), dtypes: namesOf(16), optimizerSharding: 'x' }) }],
])('fits %s into a termination message, and keeps the verdict', (_what, { contents }) => {
  const findings = Array.from({ length: 8 }, () => ({ kind: 'damaged' as const, message: 'ü'.repeat(256) }));
  const fitted = fitAnswer({ version: 1, verification: aVerification({ verdict: 'damaged', findings }), contents });
  expect(Buffer.byteLength(JSON.stringify(fitted))).toBeLessThanOrEqual(MAX_TERMINATION_MESSAGE_BYTES);
  expect(fitted.verification?.verdict).toBe('damaged');
  expect(fitted.verification?.findings[0]).toEqual(findings[0]);
});

it('leaves out groups of tensors before all else', () => {
  const group = { tensors: 1, dtype: 'float32', shape: [1], grid: [1], kind: 'parameter' as const };
  const tensorGroups = Array.from({ length: 48 }, (_, index) => ({ ...group, name: `${'n'.repeat(60)}${index}` }));
  const answer = { version: 1 as const, verification: aVerification(), contents: someContents({ tensorGroups }) };
  expect(fitAnswer(answer)).toEqual({ ...answer, contents: someContents() });
});

function namesOf(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${'n'.repeat(60)}${index}`, index]));
}
