/** Does the operator hear so few launchers that its own view is in doubt? */

/** Launchers of running gangs that have reported to this process, and those of them that are silent now. */
export interface Hearing {
  readonly launchers: number;
  readonly silent: number;
  /** Gangs with a silent launcher. */
  readonly silentGangs: number;
  /** Nodes of gangs whose launchers are all heard, by namespace. Absent: unknown. */
  readonly heardNodes?: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Silence of many launchers over many gangs is likelier a fault between them and the operator than of each of them. A rack is lost rarely, and the API
 * server reports its nodes as not ready within a minute, which confirms the silence. One or two gangs may lose all their launchers by themselves.
 */
const FEW = { silentShare: 0.2, leastGangs: 3 } as const;

/** Whether silence is no evidence about a launcher now. */
export function hearsFew(hearing: Hearing | undefined): boolean {
  if (hearing === undefined) return false;
  const { launchers, silent, silentGangs } = hearing;
  return silentGangs >= FEW.leastGangs && silent >= FEW.silentShare * launchers;
}

/**
 * Whether other gangs show that a launcher's silence is due to its node. A launcher of the same namespace is heard from another node, so the operator runs, and
 * the namespace's policies and proxies let launchers reach it. None is heard from this node.
 */
export function isSilenceOfNode(
  hearing: Hearing | undefined,
  { namespace, node }: { readonly namespace: string; readonly node: string },
): boolean {
  const heard = hearing?.heardNodes;
  if (heard === undefined || [...heard.values()].some((nodes) => nodes.has(node))) return false;
  return (heard.get(namespace)?.size ?? 0) > 0;
}
