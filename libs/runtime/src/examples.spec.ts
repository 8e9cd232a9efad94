import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { nodeDemandOf, readRuntime } from './index.ts';

const DIRECTORY = join(import.meta.dirname, '../../../examples/runtimes');

describe('the runtimes that are shown as examples', () => {
  it.each([
    ['tcp.yaml', {}],
    ['rdma-shared.yaml', { 'rdma/shared_ib': 1 }],
    ['efa.yaml', { 'vpc.amazonaws.com/efa': 32 }],
    ['gke-gib.yaml', {}],
    ['restricted.yaml', {}],
  ])('%s can be used, and asks each node for its devices', (file, devices) => {
    const { usable } = readRuntime(parse(readFileSync(join(DIRECTORY, file), 'utf8')) as never);
    if (usable.kind === 'refused') throw new Error(usable.message);
    expect(nodeDemandOf(usable.snapshot.template).devices).toEqual(devices);
  });

  it('are these', () => {
    expect(readdirSync(DIRECTORY).toSorted()).toEqual([
      'efa.yaml',
      'gke-gib.yaml',
      'rdma-shared.yaml',
      'restricted.yaml',
      'tcp.yaml',
    ]);
  });
});
