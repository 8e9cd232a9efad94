/** A message as its receiver knows it: the header `webhook-id`, the same in each attempt. */
export function messageIdOf(id: string): string {
  return `msg_${id.replaceAll('-', '')}`;
}
