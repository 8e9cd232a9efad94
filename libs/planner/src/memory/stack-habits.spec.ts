import { habitsOf } from './stack-habits.ts';

describe('habitsOf', () => {
  it.each([
    ['megatron-deepspeed 2021', 'megatron-deepspeed 2021'],
    ['megatron-deepspeed 2022', 'megatron-deepspeed'],
    ['megatron-deepspeed', 'megatron-deepspeed'],
    ['deepspeed 2021', 'deepspeed'],
    ['megatron-lm 2022', 'megatron-lm 2022'],
    ['internevo 0.2', 'internevo'],
  ])('%s has the habits of %s', (stack, family) => {
    expect(habitsOf(stack).family).toBe(family);
  });

  it.each(['megatron-core 0.12', 'megatron-lm 2024', 'nemo mlperf 5.0', 'an engine of tomorrow'])(
    '%s is taken for a current Megatron-Core with Transformer Engine',
    (stack) => {
      expect(habitsOf(stack)).toMatchObject({ family: '', dummyGradients: true });
    },
  );

  it('older allocators need more room than those with expandable segments', () => {
    expect(habitsOf('megatron-deepspeed 2022').marginShare).toBeGreaterThan(habitsOf('megatron-core').marginShare);
  });
});
