/** Engines whose jobs can be started. */
export const ENGINE_NAMES = [
  'reference',
  'command',
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'deepspeed',
  'hugging-face',
  'custom',
] as const;
