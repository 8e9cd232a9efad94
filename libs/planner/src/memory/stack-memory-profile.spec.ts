import { memoryProfileOf } from './stack-memory-profile.ts';

describe('memoryProfileOf', () => {
  it.each([
    ['megatron-deepspeed 2021', 'megatron-deepspeed 2021'],
    ['megatron-deepspeed 2022', 'megatron-deepspeed'],
    ['megatron-deepspeed', 'megatron-deepspeed'],
    ['deepspeed 2021', 'deepspeed'],
    ['megatron-lm 2022', 'megatron-lm 2022'],
    ['internevo 0.2', 'internevo'],
  ])('%s has the profile of %s', (stack, family) => {
    expect(memoryProfileOf(stack).family).toBe(family);
  });

  it.each(['megatron-core 0.12', 'megatron-lm 2024', 'nemo mlperf 5.0', 'an engine of tomorrow'])(
    '%s is taken for a current Megatron-Core with Transformer Engine',
    (stack) => {
      expect(memoryProfileOf(stack)).toMatchObject({ family: '', dummyGradients: true });
    },
  );

  it('older allocators need more room than those with expandable segments', () => {
    expect(memoryProfileOf('megatron-deepspeed 2022').marginShare).toBeGreaterThan(
      memoryProfileOf('megatron-core').marginShare,
    );
  });
});
