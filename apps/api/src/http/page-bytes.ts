/** When is a page full, whatever number of items was asked for? */

/** 1 MiB of JSON. */
export const MAX_PAGE_BYTES = 1_048_576;

/** The first items that fit a page together; always the first one, so that a list goes on. */
export function fittingPage<T>(items: readonly T[], maxBytes = MAX_PAGE_BYTES): readonly T[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    bytes += Buffer.byteLength(JSON.stringify(item));
    return bytes > maxBytes && index > 0;
  });
  return end < 0 ? items : items.slice(0, end);
}
