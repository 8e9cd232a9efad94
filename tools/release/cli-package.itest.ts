import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../test/run-supervised.ts';

const run = promisify(execFile);

describe('the command line as a package', () => {
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coxswain-package-'));
    await run(process.execPath, [join(ROOT, 'tools/release/cli-package.ts'), directory]);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const coxswain = (...argv: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> =>
    run(process.execPath, [join(directory, 'dist/coxswain.js'), ...argv], {
      env: { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
    });

  it('runs', async () => {
    expect((await coxswain('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('reads saves in directories', async () => {
    const { stdout } = await coxswain('checkpoint', 'show', join(ROOT, 'libs/checkpoint/fixtures/dcp-2.15.0'));
    expect(stdout).toMatch(/^Format +dcp\n/);
  });

  it('reads saves in buckets', async () => {
    await expect(coxswain('checkpoint', 'show', 's3://bucket/run')).rejects.toThrow(/does not answer \(ECONNREFUSED\)/);
  });
});
