/** Engines whose jobs can be started. */
export const ENGINE_NAMES = ['reference', 'command'] as const;
