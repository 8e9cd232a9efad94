/** Files that `torch.save` writes, which several formats hold. */

/** Paths of such files. */
export const TORCH_SAVE_FILE = /\.(pt|pth)$/;

/** How many bytes of each end of a file {@link isTruncated} needs. */
export const END_BYTES = 22;

/**
 * Whether a file that PyTorch wrote ends before its end. Such files are zip archives, and the last record of an archive
 * (22 bytes, PKWARE APPNOTE 4.3.16) is written last. False for a file that is no archive: its ends show nothing.
 */
export function isTruncated(head: Uint8Array, tail: Uint8Array): boolean {
  const begins = (bytes: Uint8Array, mark: readonly number[]): boolean => mark.every((byte, at) => bytes[at] === byte);
  return begins(head, [0x50, 0x4b, 3, 4]) && !begins(tail, [0x50, 0x4b, 5, 6]);
}
