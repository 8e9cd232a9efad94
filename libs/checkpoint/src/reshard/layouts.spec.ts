import fc from 'fast-check';
import { describeCoverage } from '../verify/coverage.ts';
import { divideByLayout, layoutProblem, ranksOfLayout, tensorDim } from './layouts.ts';

const KEYS = ['layers.0.w1.weight', 'layers.6.w1.weight'];

describe('a layout of tensor, pipeline and FSDP ranks', () => {
  it.each<[string, string, readonly number[], readonly string[]]>([
    [
      'divides the outputs of a product over tensor ranks, and what each holds over FSDP as torch.chunk does',
      'tp 2, fsdp 2: layers.0.attention.wq.weight',
      [6, 4],
      ['0: 0,0 2,4', '2: 2,0 1,4', '1: 3,0 2,4', '3: 5,0 1,4'],
    ],
    [
      'divides the inputs of a product by columns',
      'tp 2, fsdp 2: optimizer.exp_avg.layers.0.feed_forward.w2.weight',
      [4, 6],
      ['0: 0,0 2,3', '2: 2,0 2,3', '1: 0,3 2,3', '3: 2,3 2,3'],
    ],
    ['stores a norm once, by the first tensor rank', 'tp 2: layers.0.attention_norm.weight', [4], ['0: 0 4']],
    ['stores the bias of a layer with divided inputs once', 'tp 2: layers.0.mlp.down_proj.bias', [4], ['0: 0 4']],
    [
      'divides the bias of a layer with divided outputs',
      'tp 2: layers.0.self_attn.q_proj.bias',
      [4],
      ['0: 0 2', '1: 2 2'],
    ],
    ['gives a layer to the ranks of its stage', 'tp 2, pp 2: layers.4.ffn_norm.weight', [4], ['2: 0 4']],
    ['gives the first stage the layer more', 'tp 2, pp 2: layers.3.ffn_norm.weight', [4], ['0: 0 4']],
    ['gives the last stage the output', 'pp 2: output.weight', [2, 2], ['1: 0,0 2,2']],
    ['gives the first stage the embedding', 'pp 2: tok_embeddings.weight', [2, 2], ['0: 0,0 2,2']],
    ['stores a scalar', 'tp 2, fsdp 2: optimizer.step', [], ['0:  ']],
    [
      'does not divide a projection of a layer as it divides the last layer',
      'tp 2: layers.0.attention.output.weight',
      [2, 4],
      ['0: 0,0 2,2', '1: 0,2 2,2'],
    ],
  ])('%s', (_what, layoutAndKey, shape, boxes) => {
    const [layout = '', key = ''] = layoutAndKey.split(': ');
    const ways = (name: string): number => Number(new RegExp(`${name} (\\d+)`).exec(layout)?.[1] ?? 1);
    const divide = divideByLayout({ tensor: ways('tp'), pipeline: ways('pp'), shard: ways('fsdp') }, KEYS);
    const found = divide({ key, shape });
    expect(found.map(({ rank, offsets, sizes }) => `${String(rank)}: ${offsets.join()} ${sizes.join()}`)).toEqual(
      boxes,
    );
  });

  it('covers each tensor once, by ranks that it has', () => {
    const degree = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(
        fc.record({ tensor: degree, pipeline: degree, shard: degree }),
        fc.array(fc.nat({ max: 9 }), { maxLength: 3 }),
        fc.constantFrom('tok_embeddings.weight', 'layers.5.w2.weight', 'layers.0.w1.bias', 'norm.weight', 'other'),
        (layout, shape, key) => {
          const boxes = divideByLayout(layout, KEYS)({ key, shape });
          const chunks = boxes.map((box) => ({ ...box, item: undefined }));
          expect(describeCoverage({ key, dtype: 'float32', shape, chunks })).toBeUndefined();
          expect(boxes.every(({ rank }) => rank < ranksOfLayout(layout))).toBe(true);
        },
      ),
    );
  });

  it.each<[what: string, pipeline: number, keys: readonly string[], problem: RegExp | undefined]>([
    ['has as many stages as layers', 7, KEYS, undefined],
    [
      'has more stages than layers',
      8,
      KEYS,
      /^pp=8 has more pipeline stages than the 7 layers of the save, and a stage has at least one\. Name at most pp=7\.$/,
    ],
    ['is of a save whose names have no layers', 7, ['w'], undefined],
  ])('%s', (_what, pipeline, keys, problem) => {
    const found = layoutProblem({ tensor: 1, pipeline, shard: 1 }, keys);
    expect(found).toEqual(problem === undefined ? undefined : expect.stringMatching(problem));
  });

  it('does not divide a tensor by a name that it does not know, nor one of experts', () => {
    expect([tensorDim('layers.0.moe.router.gate.weight', [8, 4]), tensorDim('layers.0.w1.weight', [8, 4, 4])]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
