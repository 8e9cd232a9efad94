import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLayout, type RoleDocument, type DeviceMesh } from '@coxswain/layout';
import { parse } from 'yaml';
import { LAYOUT_EXAMPLES } from './layouts.ts';
import { placeToday, renderedToday } from './systems-today.ts';

function documentOf(file: string): RoleDocument & { readonly mesh: DeviceMesh } {
  const read = readLayout(parse(readFileSync(join(LAYOUT_EXAMPLES, file), 'utf8')));
  if (read.kind !== 'layout' || read.document.mesh === undefined) throw new Error(`${file} is no layout with machines`);
  return { ...read.document, mesh: read.document.mesh };
}

describe('what becomes of a published system today', () => {
  it.each([
    ['01-megatron-lm-tensor-parallel.yaml', /^megatron-lm, megatron-bridge$/],
    ['10-torchtitan.yaml', /^torchtitan$/],
    ['18-token-ring.yaml', /^custom, by your program$/],
    ['05-skippipe.yaml', /^none: engine "custom" cannot do layout.pipeline.schedule partial-paths.*; use gpipe/],
  ])('%s is rendered for the engines that run all of it, or by your program, or for none', (file, want) => {
    expect(renderedToday(documentOf(file))).toMatch(want);
  });

  it.each([
    ['11-zero.yaml', '8 nodes, 1 leaf, 1 island'],
    ['10-torchtitan.yaml', '64 nodes, 2 leaves, 1 island'],
    ['06-holmes.yaml', '8 nodes, 2 leaves, 2 islands, joined by sockets'],
  ])('%s is placed on the machines of its file', (file, want) => {
    const { mesh, ...role } = documentOf(file);
    expect(placeToday(role, mesh)).toBe(want);
  });

  it('a system that no such machines hold is not placed, with the reason', () => {
    const { mesh, ...role } = documentOf('30-pangu-alpha.yaml');
    expect(placeToday(role, mesh)).toMatch(/^not placed: A tensor group needs 16 GPUs/);
  });
});
