/** What a file in tools/campaigns exports. */
export interface Campaign {
  readonly description: string;
  /**
   * One sentence on why the campaign cannot run on this machine with these arguments; undefined when it can. It is asked before anything is
   * built, and throws for arguments that are wrong.
   */
  requirements?(args: readonly string[]): string | undefined;
  /** Resolves with true when everything held. */
  run(args: readonly string[]): Promise<boolean>;
}

/** Checks what the campaign requires, sets up, and runs it. Rejects before set-up when the machine or the arguments do not allow the campaign. */
export async function startCampaign(
  { requirements, run }: Campaign,
  args: readonly string[],
  setUp: () => Promise<void>,
): Promise<boolean> {
  const obstacle = requirements?.(args);
  if (obstacle !== undefined) throw new Error(`the campaign cannot run here: ${obstacle}`);
  await setUp();
  return run(args);
}
