import { RenderingRequest } from '@coxswain/api-types';
import { renderRequest } from './rendering-request.ts';

const model = { preset: 'llama-3.1-8b', sequenceLength: 8192 };
const ask = (request: object) => renderRequest(RenderingRequest.parse(request));

describe('a layout of which little more is known', () => {
  it('is rendered without checkpoints where those of its engine are not seen, and says so', () => {
    const layout = { dataParallelDegree: 8, states: { zeroStage: 3, implementation: 'megatron-fsdp' } };
    const { program, refusal } = ask({ engine: { name: 'megatron-lm' }, model, layout });
    expect(refusal).toBeNull();
    expect(program?.argv).not.toContain('--save');
    expect(program?.notes[0]).toMatch(
      /^assumed: it saves nothing, since a checkpoint of format fsdp_dtensor cannot be recognised as complete/,
    );
  });

  it('is refused where somebody asks for such checkpoints', () => {
    const layout = { dataParallelDegree: 8, states: { zeroStage: 3, implementation: 'megatron-fsdp' } };
    const checkpoint = { claimName: 'kept' };
    expect(ask({ engine: { name: 'megatron-lm' }, model, layout, checkpoint }).refusal).toMatchObject({
      field: 'checkpoint',
    });
  });

  it.each([
    ['a program that is given: nothing is assumed of it', ['python3', 'a.py'], []],
    ['a program that is not given', undefined, ['assumed: engine.command is python3 train.py']],
  ])('lists nothing that engine command does not pass to the program: %s', (_what, command, want) => {
    const engine = { name: 'command', ...(command === undefined ? {} : { command }) };
    expect(ask({ engine, layout: { dataParallelDegree: 8 } }).program?.notes).toEqual(want);
  });

  it('is given data that its release can read', () => {
    const layout = { dataParallelDegree: 8, states: { zeroStage: 3 } };
    const { program } = ask({ engine: { name: 'torchtitan', release: 'v0.2.2' }, model, layout });
    expect(program?.notes).toContain(
      'assumed: data is JSON lines in corpus of claim data, and its tokenizer in tokenizer',
    );
  });

  it.each<[string, object, string, RegExp]>([
    [
      'a sentence that begins with no word of the layout',
      { pipelineParallelDegree: 2, dataParallelDegree: 4, pipeline: { chunksPerRank: 4 } },
      'layout.pipeline.microBatchGroupSize',
      /^3 micro-batches do not fill groups of 2/,
    ],
    [
      'one that does',
      { pipelineParallelDegree: 3, dataParallelDegree: 4 },
      'layout.pipelineParallelDegree',
      /^layout.pipelineParallelDegree 3 does not divide layers 32/,
    ],
  ])('is refused by its field, with dots, and in %s', (_what, layout, field, why) => {
    const { refusal } = ask({ engine: { name: 'megatron-lm' }, model, layout, training: { globalBatchSize: 12 } });
    expect(refusal).toMatchObject({ field, why: expect.stringMatching(why) as string });
  });
});
