/** Finds the universal checkpoint that was made from a save of DeepSpeed. */

/**
 * The folder beside the save that holds its universal checkpoint, by the text of `latest_universal`; undefined if that names a checkpoint
 * of another save. The converter takes any name. Coxswain counts one that begins with the name of the save: `global_step2_universal`, and
 * not `global_step20_universal`, for `global_step2`.
 */
export function universalCopyOf(tag: string, latestUniversal: string): string | undefined {
  const copy = latestUniversal.trim().split(/[/\\]/).at(-1) ?? '';
  const isOfSave = tag !== '' && copy.startsWith(tag) && /^\D/.test(copy.slice(tag.length));
  return isOfSave ? copy : undefined;
}
