/**
 * Normalizes a mount path: from the root, without `.`, `..` and doubled slashes, which neither the API server nor the kubelet
 * removes. A value that is no string becomes the root.
 */
export function normalizePath(path: unknown): string {
  const parts: string[] = [];
  for (const part of typeof path === 'string' ? path.split('/') : []) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
