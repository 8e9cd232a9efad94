import type { AllowedChoices, PinnedAxes } from '../contract.ts';
import { aSpace } from '../testing/runs.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  pipelineChoicesOf,
  stateChoicesOf,
  type SpaceFacts,
} from '../space/search-space.ts';
import { warmStartSpaceOf } from './warm-start.ts';

/** Every choice of layouts in a space, as text. */
function layoutsOf(space: SpaceFacts): ReadonlySet<string> {
  const layouts = new Set<string>();
  for (const mesh of denseMeshesOf(space, (_mesh, [first]) => first ?? 'ring')) {
    for (const grid of expertGridsOf(space, mesh)) {
      for (const states of stateChoicesOf(space, mesh)) {
        for (const pipeline of pipelineChoicesOf(space, mesh)) {
          layouts.add(JSON.stringify({ mesh, grid, states, pipeline }));
        }
      }
    }
  }
  return layouts;
}

describe('the space of a warm start', () => {
  it.each<[string, Partial<SpaceFacts>]>([
    ['where everything is allowed', {}],
    ['where a pipeline is pinned', { pinned: { pipeline: 2, recompute: 'half' } }],
    ['where context is pinned', { pinned: { context: 2 } }],
    [
      'where nothing that is usually good is allowed',
      { allow: { schedules: ['v-min'], recompute: ['half'], zeroStages: [3] } },
    ],
    [
      'where only vocabulary stages are allowed',
      { allow: { partitions: ['vocabulary'], rankOrders: ['tp-pp-cp-dp'] } },
    ],
    ['where even divisions alone are allowed', { allow: { evenOnly: true } }],
    ['of long samples', { sequenceLength: 65_536 }],
  ])('is a part of the whole, smaller and not empty, %s', (_sentence, over) => {
    const space = aSpace(over);
    const [whole, warm] = [layoutsOf(space), layoutsOf(warmStartSpaceOf(space))];
    expect(warm.size).toBeGreaterThan(0);
    expect(warm.size).toBeLessThan(whole.size);
    expect([...warm].filter((layout) => !whole.has(layout))).toEqual([]);
  });

  it.each<[string, AllowedChoices, keyof AllowedChoices, unknown]>([
    ['the usual schedules', {}, 'schedules', ['1f1b', 'interleaved-1f1b', 'zbv']],
    ['those of them that are allowed', { schedules: ['gpipe', 'zbv'] }, 'schedules', ['zbv']],
    ['what is allowed, where none of them is', { schedules: ['gpipe', 'v-min'] }, 'schedules', ['gpipe', 'v-min']],
    ['states sharded over optimizer and gradients', {}, 'zeroStages', [1, 2]],
    ['even stages', {}, 'partitions', ['even']],
    ['no offloading, though it is allowed', { offload: true }, 'offload', false],
    ['even divisions, as they were asked for', { evenOnly: true }, 'evenOnly', true],
  ])('has %s', (_sentence, allow, choice, want) => {
    expect(warmStartSpaceOf(aSpace({ allow })).allow[choice]).toEqual(want);
  });

  it.each<[string, number, PinnedAxes, PinnedAxes]>([
    ['no context ranks for samples of up to 8,192 tokens', 8192, {}, { context: 1 }],
    ['any number of them for longer ones', 8193, {}, {}],
    ['as many as are pinned', 8192, { context: 4 }, { context: 4 }],
    ['all else that is pinned', 8192, { tensor: 2 }, { context: 1, tensor: 2 }],
  ])('has %s', (_sentence, sequenceLength, pinned, want) => {
    expect(warmStartSpaceOf(aSpace({ sequenceLength, pinned })).pinned).toEqual(want);
  });
});
