import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { download, publishedSum } from './download.ts';

const PROGRAM = '#!/bin/sh\necho it runs\n';

describe('an official download', () => {
  const files = new Map<string, Buffer>();
  let server: Server;
  let base: string;
  let directory: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const file = files.get(request.url ?? '');
      response.writeHead(file === undefined ? 404 : 200).end(file);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  });

  afterAll(() => server.close());

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'download-'));
    files.clear();
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  const release = (path: string, member?: string): Parameters<typeof download>[0] => ({
    url: `${base}/${path}`,
    ...(member === undefined ? {} : { member }),
    checksum: { kind: 'text', url: `${base}/${path}.sha256` },
  });
  const publish = (path: string, content: Buffer): void => {
    files.set(`/${path}`, content);
    files.set(`/${path}.sha256`, Buffer.from(createHash('sha256').update(content).digest('hex')));
  };

  it('becomes a program when its bytes are those that were published', async () => {
    publish('kubectl', Buffer.from(PROGRAM));
    const target = join(directory, 'kubectl');
    const sum = await publishedSum(release('kubectl'));

    await download(release('kubectl'), sum ?? '', target);

    expect(readFileSync(target, 'utf8')).toBe(PROGRAM);
    expect(statSync(target).mode & 0o777).toBe(0o755);
  });

  it('is taken out of its archive', async () => {
    mkdirSync(join(directory, 'in/etcd-v1'), { recursive: true });
    writeFileSync(join(directory, 'in/etcd-v1/etcd'), PROGRAM);
    execFileSync('tar', ['-czf', join(directory, 'etcd.tar.gz'), '-C', join(directory, 'in'), 'etcd-v1']);
    publish('etcd.tar.gz', readFileSync(join(directory, 'etcd.tar.gz')));
    const archive = release('etcd.tar.gz', 'etcd-v1/etcd');

    await download(archive, (await publishedSum(archive)) ?? '', join(directory, 'etcd'));

    expect(readFileSync(join(directory, 'etcd'), 'utf8')).toBe(PROGRAM);
    expect(readdirSync(directory).sort()).toEqual(['etcd', 'etcd.tar.gz', 'in']);
  });

  it('is refused, and leaves nothing, when its bytes are others', async () => {
    files.set('/kubectl', Buffer.from('something else'));

    await expect(download(release('kubectl'), 'a'.repeat(64), join(directory, 'kubectl'))).rejects.toThrow(
      /kubectl has SHA-256 [0-9a-f]{64}, but a{64} is the one that it is to have/,
    );
    expect(readdirSync(directory)).toEqual([]);
  });

  it.each([
    ['its host has no checksum', (): string => base],
    ['its host does not answer', (): string => 'http://127.0.0.1:1'],
  ])('is not tried when %s', async (_, host) => {
    const unknown = { ...release('kubectl'), checksum: { kind: 'text' as const, url: `${host()}/none` } };

    expect(await publishedSum(unknown)).toBeUndefined();
  });
});
