import { layoutExamples } from './layouts.ts';

/** Systems that no engine can be told as published: what is refused must say so, and nothing else is. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  '07-megascale.yaml': /lamb; use adamw, or engine deepspeed/,
  '17-zeco.yaml': /no public engine supports sequence.contextAlgorithm state-scan; use state-allgather/,
  '22-memo.yaml': /no public engine supports memory.roundingBuffers 2/,
  '25-hecate.yaml': /no public engine supports expert.balance sparse-materialization; use aux-loss/,
  '32-distzo2.yaml': /no public engine supports states.perturbationDegree 2/,
  '33-gnnpipe.yaml': /no public engine supports pipeline.schedule graph-chunks; use gpipe/,
  '35-superpipeline.yaml': /memory.offload.what layers; use parameters/,
};
const examples = layoutExamples();

describe('the example layouts', () => {
  it('are of 42 systems, numbered without a gap', () => {
    expect(examples.map(({ file }) => Number(file.slice(0, 2)))).toEqual(Array.from({ length: 42 }, (_, i) => i + 1));
  });

  it.each(examples)('$file breaks no rule and says what it shows', ({ errors, title }) => {
    expect(errors).toEqual([]);
    expect(title).toMatch(/^\S.*: .+\.$/);
  });

  it.each(examples)('$file is planned, or refused with reason and way out', ({ planning }) => {
    for (const outcome of planning) expect(outcome).toMatch(/(^|: )planned$|, so .*; |refused: .*; /);
  });

  it('are planned for the most part', () => {
    const planned = examples.filter(({ planning }) => planning.some((outcome) => outcome.endsWith('planned')));
    expect(planned.length).toBeGreaterThanOrEqual(27);
  });

  it.each(examples)('$file goes to its engine whole, or is refused with reason and way out', ({ file, refusals }) => {
    const refused = REFUSED[file];
    expect(refusals.join('. ')).toMatch(refused ?? /^$/);
  });
});
