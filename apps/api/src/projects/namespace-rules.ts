/** Which namespaces may a project own? */

/** What an installation says about namespaces. */
export interface NamespaceRules {
  /** Where Coxswain itself runs. */
  readonly own: string;
  /** Names, with `*` for any characters; none: every namespace that is not the system's. */
  readonly allowed: readonly string[];
  /** The only namespaces that the API may read and write; none: all. */
  readonly confinedTo: readonly string[];
}

/**
 * Why no project may own the namespace; undefined if one may. Users who can train in a namespace run their own programs there, beside everything
 * else in it. Names that begin with `kube-` are reserved for Kubernetes itself.
 */
export function namespaceProblem(namespace: string, { own, allowed, confinedTo }: NamespaceRules): string | undefined {
  if (namespace.startsWith('kube-')) return 'it belongs to Kubernetes; make a namespace for the project';
  if (namespace === own) return 'Coxswain itself runs there; make a namespace for the project';
  if (confinedTo.length > 0 && !confinedTo.includes(namespace)) return unreadable(confinedTo);
  if (allowed.length === 0 || allowed.some((pattern) => matches(namespace, pattern))) return undefined;
  return `this installation allows ${allowed.join(', ')} (COXSWAIN_PROJECT_NAMESPACES, in the chart api.projectNamespaces)`;
}

/** Why a project cannot use a namespace outside of `confinedTo`. */
function unreadable(confinedTo: readonly string[]): string {
  return `this installation of the API may only use ${confinedTo.join(', ')} (COXSWAIN_API_NAMESPACES, in the chart api.namespaces)`;
}

/** Matches piece by piece and without backtracking: administrators write the patterns, and a long name must cost nothing. */
function matches(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > name.length - last.length) return false;
    at = found + piece.length;
  }
  return at <= name.length - last.length;
}
