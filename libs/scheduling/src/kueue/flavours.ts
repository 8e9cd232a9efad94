/** On which nodes may a gang run that Kueue admitted? */
import type { NodeDemand } from '@coxswain/fabric';
import type { NodeRules, WorkloadFacts } from './workload-facts.ts';

/** Node rules of a whole gang, or why no node can obey them. */
type GangNodeRules =
  { readonly kind: 'rules'; readonly rules: NodeRules } | { readonly kind: 'contradiction'; readonly message: string };

/** What flavours and AdmissionChecks of others demand of every node of the gang. A flavour that does not exist is missing in `flavours`. */
export function gangNodeRules(
  workload: Pick<WorkloadFacts, 'flavours' | 'updates'>,
  flavours: ReadonlyMap<string, NodeRules>,
): GangNodeRules {
  const names = [...new Set(workload.flavours.flat())];
  const missing = names.filter((name) => !flavours.has(name));
  if (missing.length > 0)
    return contradiction(`ResourceFlavor ${missing.join(', ')} of the admitted Workload does not exist`);
  const all = [...names.flatMap((name) => flavours.get(name) ?? []), ...workload.updates];
  const nodeSelector: Record<string, string> = {};
  for (const [key, value] of all.flatMap((one) => Object.entries(one.nodeSelector))) {
    const before = (nodeSelector[key] ??= value);
    if (before !== value)
      return contradiction(
        `the flavours ${names.join(', ')} of the Workload demand both ${key}=${before} and ${key}=${value}`,
      );
  }
  const tolerations = all.flatMap((one) => one.tolerations);
  return { kind: 'rules', rules: { nodeSelector, tolerations } };
}

function contradiction(why: string): GangNodeRules {
  return {
    kind: 'contradiction',
    message: `No node fits: ${why}. A gang runs in one flavour; change the ClusterQueue or the ResourceFlavors.`,
  };
}

/** The demand with these rules on top. */
export function withNodeRules(demand: NodeDemand | undefined, rules: NodeRules): NodeDemand {
  const { nodeSelector = {}, tolerations = [], devices = {} } = demand ?? {};
  return {
    nodeSelector: { ...nodeSelector, ...rules.nodeSelector },
    tolerations: [...tolerations, ...rules.tolerations],
    devices,
  };
}
