/** Which chunk is painted in which color, and where: a recorder stands in for the canvas. */
import { distinctColor } from '../distinct-color.ts';
import { layOutShards } from './shard-geometry.ts';
import { paintShards } from './shard-painting.ts';
import type { TensorGroup } from '@coxswain/api-types';
import { aTensorGroup } from './testing/a-tensor-group.ts';

/** Colors are the names of CSS variables, and each letter is six pixels wide. */
function painted(changes: Partial<TensorGroup>, widthPx = 600) {
  const filled: string[] = [];
  const texts: string[] = [];
  const context = {
    fillStyle: '',
    scale: () => undefined,
    fillRect: (...at: number[]) => filled.push(`${context.fillStyle} ${at.join(' ')}`),
    fillText: (text: string) => texts.push(`${text} in ${context.fillStyle}`),
    measureText: (text: string) => ({ width: 6 * text.length }),
  };
  const element = { width: 0, height: 0, getContext: () => context } as unknown as HTMLCanvasElement;
  paintShards(element, layOutShards([aTensorGroup(changes)], widthPx), widthPx);
  return { filled, texts, size: [element.width, element.height] };
}

beforeAll(() =>
  Object.assign(globalThis, {
    devicePixelRatio: 2,
    getComputedStyle: () => ({ getPropertyValue: (name: string) => ` ${name}` }),
  }),
);
afterAll(() => {
  Reflect.deleteProperty(globalThis, 'devicePixelRatio');
  Reflect.deleteProperty(globalThis, 'getComputedStyle');
});

it('has a color and a number for each chunk, with a line between them', () => {
  const { filled, texts } = painted({});
  expect(filled).toEqual([`${distinctColor(0)} 0 74 219 54`, `${distinctColor(1)} 0 129 219 54`]);
  expect(texts.slice(-2)).toEqual(['1 in #fff', '2 in #fff']);
});

it.each<[sentence: string, group: Partial<TensorGroup>, filled: number, numbers: number]>([
  ['has no numbers in chunks that are too low', { grid: [8, 1] }, 8, 0],
  ['has no numbers in chunks that are too narrow', { shape: [800], grid: [20] }, 20, 0],
  ['has one grey box without a number for chunks that cannot be told apart', { shape: [9000], grid: [100] }, 1, 0],
])('%s', (_sentence, group, filled, numbers) => {
  const found = painted(group);
  expect([found.filled.length, found.texts.length - 4]).toEqual([filled, numbers]);
});

it('paints chunks that cannot be told apart in no color of a chunk', () => {
  expect(painted({ shape: [9000], grid: [100] }).filled[0]).toMatch(/^--idle /);
});

it('writes the names in the ink of the page, and the end of one that is too long', () => {
  const name = `${'x'.repeat(60)}.weight`;
  const { texts } = painted({ name });
  expect(texts.slice(0, 4)).toEqual([
    'Parameters in --ink',
    expect.stringMatching(/^…x+\.weight in --ink$/),
    '8 × 4 bfloat16 in --muted',
    '4 tensors · 2 chunks in --muted',
  ]);
});

it('is as sharp as the screen', () => {
  expect(painted({}).size).toEqual([1200, 2 * 184]);
});
