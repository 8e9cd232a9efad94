/**
 * The names that a layout gives to checkpoint formats, and what layout rules read about each.
 * Everything else that is known about a format (its files, who saves it, who loads it) is in libs/checkpoint/src/formats.
 */
import type { StateSharding } from './state-sharding.ts';

/** Values of `checkpointPolicy.format`. */
export const LAYOUT_CHECKPOINT_FORMATS = [
  'torch_dist',
  'torch_dcp',
  'fsdp_dtensor',
  'dcp',
  'deepspeed',
  'deepspeed-universal',
  'bytecheckpoint',
  'galvatron',
  'mindspore',
  'legacy',
] as const;
/** A format as a layout names it. */
export type LayoutCheckpointFormat = (typeof LAYOUT_CHECKPOINT_FORMATS)[number];

/** Formats that every layout can load, however the state was divided when it was saved. */
export const LAYOUT_INDEPENDENT_FORMATS: ReadonlySet<string> = new Set<LayoutCheckpointFormat>([
  'torch_dcp',
  'dcp',
  'fsdp_dtensor',
  'deepspeed-universal',
  'bytecheckpoint',
]);

/** The only format that can hold the state of these implementations of sharding. */
export const FORMAT_OF_SHARDING = {
  'megatron-fsdp': 'fsdp_dtensor',
  fsdp2: 'torch_dcp',
} as const satisfies Partial<Record<NonNullable<StateSharding['implementation']>, LayoutCheckpointFormat>>;

/** The format that only loads with the configuration that saved it. */
export const CONFIGURATION_BOUND_FORMAT: LayoutCheckpointFormat = 'galvatron';

/** Formats that an engine saves, by the family of engines that share them; see ENGINE_CAPABILITIES for the engines. */
export const FORMATS_BY_FAMILY = {
  megatron: ['torch_dist', 'torch_dcp', 'fsdp_dtensor', 'legacy'],
  torchtitan: ['dcp'],
  deepspeed: ['deepspeed', 'deepspeed-universal'],
  galvatron: ['galvatron'],
  mindspore: ['mindspore'],
  custom: ['torch_dist', 'torch_dcp', 'fsdp_dtensor', 'dcp', 'bytecheckpoint', 'legacy'],
} as const satisfies Record<string, readonly LayoutCheckpointFormat[]>;

/** Formats to suggest in place of one that the engine does not save, best first. */
export const SUGGESTED_FORMATS: readonly LayoutCheckpointFormat[] = ['torch_dist', 'dcp', 'deepspeed'];
