import { readFileSync } from 'node:fs';
import {
  ENGINE_CPU_LOCK,
  ENGINE_LOCK,
  ENGINE_REQUIREMENTS,
  UPSTREAM_LOCK,
  UPSTREAM_REQUIREMENTS,
} from '@coxswain/local-cluster';

const ONLY_FOR_CUDA = /^(torch|triton|cuda-.*|nvidia-.*)$/;

/** Name and version of what a file pins, with the number of hashes behind it. A name can stand twice, for different releases of Python. */
function pinned(file: string): { readonly name: string; readonly version: string; readonly hashes: number }[] {
  const text = readFileSync(file, 'utf8').replaceAll(/^#.*$/gm, '').replaceAll('\\\n', ' ');
  return text
    .split('\n')
    .map((line) => ({
      pin: /^([a-z0-9._-]+)==([^\s;]+)/.exec(line),
      hashes: line.match(/--hash=sha256:[0-9a-f]{64}/g),
    }))
    .flatMap(({ pin, hashes }) =>
      pin === null ? [] : [{ name: pin[1] ?? '', version: pin[2] ?? '', hashes: hashes?.length ?? 0 }],
    );
}

const named = (file: string): string[] => pinned(file).map(({ name, version }) => `${name}==${version}`);

describe('the lock of the engines’ Python packages', () => {
  it('holds what requirements.txt asks for', () => {
    expect(named(ENGINE_LOCK)).toEqual(expect.arrayContaining(named(ENGINE_REQUIREMENTS)));
  });

  it('of engines of others holds what their requirements.txt asks for, and none of PyTorch, which the layer below has', () => {
    expect(named(UPSTREAM_LOCK)).toEqual(expect.arrayContaining(named(UPSTREAM_REQUIREMENTS)));
    const second = pinned(UPSTREAM_LOCK).filter(({ name }) => /^(torch|triton|cuda-.*|nvidia-cu.*)$/.test(name));
    expect(second).toEqual([]);
  });

  it.each([
    ['of engines of others', UPSTREAM_LOCK],
    ['of the general build', ENGINE_LOCK],
    ['of the build for CPUs', ENGINE_CPU_LOCK],
  ])('names the hashes of every package %s', (_, file) => {
    expect(pinned(file).length).toBeGreaterThan(10);
    expect(pinned(file).filter(({ hashes }) => hashes === 0)).toEqual([]);
  });

  it('is the same for CPUs but for PyTorch and its CUDA libraries', () => {
    const others = pinned(ENGINE_LOCK).filter(({ name }) => !ONLY_FOR_CUDA.test(name));

    expect(pinned(ENGINE_CPU_LOCK)).toEqual(others);
  });
});
