import { LAYOUT_ENGINES } from '@coxswain/layout';
import { SCHEDULES, type Schedule } from '../facts.ts';
import { CONTEXT_ALGORITHMS, type AllowedChoices } from '../contract.ts';
import { choicesOfEngine, engineOfStack } from './engine-choices.ts';

describe('engineOfStack', () => {
  it.each(LAYOUT_ENGINES.map((engine) => [engine]))('%s and its releases are that engine', (engine) => {
    expect(engineOfStack(engine)).toBe(engine);
    expect(engineOfStack(`${engine} 26.04`)).toBe(engine);
  });

  it.each([
    ['megatron-deepspeed 2022', 'megatron-deepspeed'],
    ['torchtitan-toml', 'torchtitan-toml'],
    ['nemo', 'megatron-bridge'],
    ['nemo-rl 0.3', 'nemo-rl'],
  ])('%s is taken for no engine with a shorter name: it is %s', (stack, engine) => {
    expect(engineOfStack(stack)).toBe(engine);
  });

  it.each([['megatron-lmx'], ['deepspeedy 1'], ['megatron'], ['nemotron'], ['']])('"%s" is no engine', (stack) => {
    expect(engineOfStack(stack)).toBeUndefined();
  });
});

describe('choicesOfEngine', () => {
  // As read in the repositories that libs/layout/src/engine-capabilities.ts names, in the planner's order of schedules.
  it.each<[string, readonly Schedule[], AllowedChoices['contextAlgorithms']]>([
    ['megatron-lm', ['1f1b', 'interleaved-1f1b'], ['ring', 'allgather', 'ulysses']],
    ['megatron-bridge', ['1f1b', 'interleaved-1f1b'], ['ring', 'allgather', 'ulysses']],
    ['torchtitan', ['gpipe', '1f1b', 'interleaved-1f1b', 'zbv', 'dualpipe-v'], ['allgather']],
    ['torchtitan v0.2.2', ['gpipe', '1f1b', 'interleaved-1f1b', 'zbv', 'dualpipe-v'], ['ring', 'allgather']],
    ['deepspeed', ['1f1b'], ['ulysses']],
    ['megatron-deepspeed', ['1f1b', 'zb-h1'], ['ulysses']],
    ['galvatron', ['gpipe', '1f1b'], ['ring', 'ulysses']],
    [
      'zero-bubble',
      ['1f1b', 'interleaved-1f1b', 'zb-h1', 'zb-2p', 'zbv', 'v-half', 'v-min'],
      ['ring', 'allgather', 'ulysses'],
    ],
  ])('%s offers %j and, between context ranks, %j', (stack, schedules, contextAlgorithms) => {
    const choices = choicesOfEngine(stack, {});
    expect(choices.schedules).toEqual(schedules);
    expect(choices.contextAlgorithms).toEqual(contextAlgorithms);
  });

  it('never offers a schedule or an algorithm that the planner has no model of', () => {
    for (const engine of LAYOUT_ENGINES) {
      const { schedules = [], contextAlgorithms = [] } = choicesOfEngine(engine, {});
      expect(SCHEDULES).toEqual(expect.arrayContaining([...schedules]));
      expect(CONTEXT_ALGORITHMS).toEqual(expect.arrayContaining([...contextAlgorithms]));
    }
  });

  it('keeps everything else that the caller allows', () => {
    const allow: AllowedChoices = { recompute: ['full'], zeroStages: [1], offload: false, rankOrders: ['tp-cp-dp-pp'] };
    expect(choicesOfEngine('megatron-lm', allow)).toMatchObject(allow);
  });

  it.each([[undefined], ['an engine of tomorrow']])('changes nothing for %s', (stack) => {
    const allow: AllowedChoices = { schedules: ['v-min'] };
    expect(choicesOfEngine(stack, allow)).toBe(allow);
  });

  it('lets the word of the caller stand where the engine has nothing of it, so that the rules refuse it by name', () => {
    const allow: AllowedChoices = { schedules: ['v-min'], contextAlgorithms: ['ring'] };
    expect(choicesOfEngine('deepspeed', allow)).toMatchObject(allow);
  });
});
