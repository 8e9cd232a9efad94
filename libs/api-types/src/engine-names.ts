import type { LayoutEngine } from '@coxswain/layout';

/** Engines whose jobs can be started. Each has the name by which its layouts are checked and planned. */
export const ENGINE_NAMES = [
  'reference',
  'command',
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'deepspeed',
  'hugging-face',
  'custom',
] as const satisfies readonly LayoutEngine[];
/** Name of an engine that a job can use. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/**
 * Releases of engines that can be rendered, the newest first, as their repositories tag them; none of a program of the user's own. A job that names another is
 * refused by the API server too.
 */
export const ENGINE_RELEASES: Readonly<Record<EngineName, readonly string[]>> = {
  reference: [],
  command: [],
  'megatron-lm': [
    ...['core_v0.19.0', 'core_v0.18.2', 'core_v0.18.0', 'core_v0.17.1', 'core_v0.17.0'],
    ...['core_v0.16.1', 'core_v0.16.0', 'core_v0.15.3', 'core_v0.15.2', 'core_v0.15.1', 'core_v0.15.0'],
  ],
  'megatron-bridge': ['v0.5.1', 'v0.3.1'],
  torchtitan: ['v0.3.0', 'v0.2.2', 'v0.2.1', 'v0.2.0'],
  deepspeed: ['v0.19.8'],
  'hugging-face': ['v5.23.0'],
  custom: [],
};
