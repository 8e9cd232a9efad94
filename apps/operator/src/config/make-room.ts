import { type ClaimRules, DEFAULT_CLAIM_RULES } from '@coxswain/scheduling';
import { z } from 'zod';

/** Variables about jobs that make room for others. */
export const makeRoomVariables = {
  COXSWAIN_MAKE_ROOM: z
    .stringbool()
    .default(false)
    .describe(
      'Whether running jobs save and stop for a waiting job whose PriorityClass has a higher value and a preemptionPolicy other than Never.',
    ),
  COXSWAIN_MAKE_ROOM_PROTECTED_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(86_400_000)
    .default(DEFAULT_CLAIM_RULES.leastProtectedSeconds * 1_000)
    .describe('A job is not asked to make room for so long after its start.'),
  COXSWAIN_MAKE_ROOM_PROTECTED_STARTS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000)
    .default(DEFAULT_CLAIM_RULES.protectedStarts)
    .describe('Nor for so many times what a save and a start cost it.'),
};

/** The rules that these variables state; undefined: no job makes room. */
export function makeRoomRules(env: {
  readonly COXSWAIN_MAKE_ROOM: boolean;
  readonly COXSWAIN_MAKE_ROOM_PROTECTED_MS: number;
  readonly COXSWAIN_MAKE_ROOM_PROTECTED_STARTS: number;
}): ClaimRules | undefined {
  if (!env.COXSWAIN_MAKE_ROOM) return undefined;
  return {
    ...DEFAULT_CLAIM_RULES,
    leastProtectedSeconds: env.COXSWAIN_MAKE_ROOM_PROTECTED_MS / 1_000,
    protectedStarts: env.COXSWAIN_MAKE_ROOM_PROTECTED_STARTS,
  };
}
