import { stackOfEngine, timeOfEngine } from './stack-of-engine.ts';

describe('the stack that an engine names', () => {
  it.each([
    ['Megatron-Bridge/MCore (NeMo container 26.04.01)', 'megatron-bridge 26.04'],
    ['Megatron-Bridge/MCore (mid-2026)', 'megatron-bridge 26.06'],
    ['Megatron-Bridge/MCore (2026)', 'megatron-bridge'],
    ['Megatron-LM (2021)', 'megatron-lm 2021'],
    ['Megatron-LM PTD-P (2021)', 'megatron-lm 2021'],
    ['Megatron-LM + zero-bubble / ZB-2p', 'zero-bubble'],
    ['Megatron-LM V-Half / Vocab1', 'vocabulary-parallel'],
    ['Megatron-LM 1F1B / Base', 'vocabulary-parallel'],
    ['Megatron-DeepSpeed (2022)', 'megatron-deepspeed 2022'],
    ['Sailor (Megatron-DeepSpeed fork)', 'sailor'],
    ['Composer/PyTorch FSDP', 'composer-fsdp'],
    ['NeMo/MCore (MLPerf 5.1)', 'nemo mlperf 5.1'],
    ['PyTorch, ROCm 7.0.1 (MLPerf 5.1)', 'amd mlperf 5.1'],
    ['NeMo launcher (24.x) LoRA', 'nemo 24.x'],
    ['InternEvo (v0.2.1dev)', 'internevo 0.2'],
    ['Megatron-Core (23e00ed0, TE 2.11)', 'megatron-core'],
    ['MCore + MoE Parallel Folding', 'moe-folding'],
    ['LiBai/OneFlow', 'oneflow'],
    ['TorchTitan (PyTorch nightly 2024)', 'torchtitan 2024'],
    ['nanotron', 'nanotron'],
    ['DeepSpeed ZeRO-3 (2021)', 'deepspeed 2021'],
    ['FSDP', 'fsdp'],
    ['an engine of our own', 'generic'],
    ['', 'generic'],
  ])('%s → %s', (engine, stack) => {
    expect(stackOfEngine(engine)).toBe(stack);
  });

  it.each([
    ['Megatron-LM (2021)', 2021],
    ['Megatron-Bridge/MCore (mid-2026)', 2026.5],
    ['Megatron-Bridge/MCore (NeMo container 26.04)', 2026.25],
    ['NeMo/MCore (MLPerf 4.1)', 2024.5],
    ['NeMo launcher (24.x)', 2024],
    ['InternEvo', undefined],
  ])('%s was current in %s', (engine, time) => {
    expect(timeOfEngine(engine)).toBe(time);
  });
});
