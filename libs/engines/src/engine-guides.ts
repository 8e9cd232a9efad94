import type { EngineName } from '@coxswain/api-types';
import { COMMAND_GUIDE } from './adapters/command-guide.ts';
import { MEGATRON_BRIDGE_GUIDE } from './adapters/megatron-bridge/megatron-bridge-guide.ts';
import { MEGATRON_GUIDE } from './adapters/megatron-guide.ts';
import { CUSTOM_GUIDE } from './adapters/custom-guide.ts';
import { DEEPSPEED_GUIDE } from './adapters/deepspeed/deepspeed-guide.ts';
import { HUGGING_FACE_GUIDE } from './adapters/hugging-face/hugging-face-guide.ts';
import { REFERENCE_GUIDE } from './adapters/reference-guide.ts';
import { TORCHTITAN_GUIDE } from './adapters/torchtitan/torchtitan-guide.ts';
import type { EngineGuide } from './engine-guide.ts';

/** What there is to know of each engine that jobs can name. */
export const ENGINE_GUIDES: Readonly<Record<EngineName, EngineGuide>> = {
  reference: REFERENCE_GUIDE,
  command: COMMAND_GUIDE,
  'megatron-lm': MEGATRON_GUIDE,
  'megatron-bridge': MEGATRON_BRIDGE_GUIDE,
  torchtitan: TORCHTITAN_GUIDE,
  deepspeed: DEEPSPEED_GUIDE,
  'hugging-face': HUGGING_FACE_GUIDE,
  custom: CUSTOM_GUIDE,
};
