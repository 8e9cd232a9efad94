import { expertRules } from './expert-rules.ts';
import { layerRules } from './layer-rules.ts';
import { memoryRules } from './memory-rules.ts';
import { networkRules } from './network-rules.ts';
import type { OptionRule } from './option-rule.ts';
import { pipelineRules } from './pipeline-rules.ts';
import { rankRules } from './rank-rules.ts';
import { restoreRules } from './restore-rules.ts';
import { sequenceRules } from './sequence-rules.ts';
import { stateRules } from './state-rules.ts';

/** Every rule about options that depend on each other. */
export const optionRules: readonly OptionRule[] = [
  ...rankRules,
  ...sequenceRules,
  ...pipelineRules,
  ...expertRules,
  ...stateRules,
  ...memoryRules,
  ...layerRules,
  ...networkRules,
  ...restoreRules,
];
