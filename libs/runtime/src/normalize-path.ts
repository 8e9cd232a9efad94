/**
 * Where something is mounted that is to be mounted at that path: from the root, without `.`, `..` and doubled slashes, which neither the API server nor
 * the kubelet takes out. Of what is no text, the root.
 */
export function plainPath(path: unknown): string {
  const parts: string[] = [];
  for (const part of typeof path === 'string' ? path.split('/') : []) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
