/** What controllers of others have in common: their Go module, and a port that answers. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BINARY_VERSIONS, type BinaryName, type ControlPlane, goModuleOf, waitFor } from '@coxswain/local-cluster';
import { parse } from 'yaml';

/** The folder of a module, whose hash is in the go.sum of the program that is built from it. */
export async function moduleFolder(program: BinaryName, path: string): Promise<string> {
  const module = `${path}@v${BINARY_VERSIONS[program]}`;
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], { cwd: tmpdir() });
  const { Dir, Sum } = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string };
  const sums = readFileSync(join(goModuleOf(program), 'go.sum'), 'utf8');
  if (!sums.includes(`${module.replace('@', ' ')} ${Sum}\n`)) throw new Error(`go.sum has no hash ${Sum} of ${module}`);
  return Dir;
}

/** Creates the definition in that file, and waits until objects are served at `path`. */
export async function define({ admin }: ControlPlane, file: string, path: string): Promise<void> {
  const body = parse(readFileSync(file, 'utf8')) as object;
  await admin.json({ method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body });
  await waitFor(async () => (await admin.send({ method: 'GET', path })).status === 200, {
    what: `${path} to be served`,
  });
}

/** Whether something listens on that port of loopback. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
