import { MAX_TIERS, NVLINK_DOMAIN_KEYS, SWITCH_DIALECTS } from './dialects.ts';
import { crossingOf } from './divisions.ts';
import type { NodeFacts } from './fabric.ts';
import { namesOfIslands } from './island-names.ts';
import { nicProblems } from './nic-problems.ts';
import { type NodeReading, readingsOf } from './node-reading.ts';
import { listed, type FabricProblem } from './problem.ts';
import { firstReported, isReadable } from './reported-labels.ts';
import { switchProblems } from './switch-problems.ts';
import { uncountedNodes } from './uncounted.ts';

/** The most problems that are reported: labels could cause any number. */
export const MAX_FABRIC_PROBLEMS = 32;

/**
 * Where what is said of the nodes contradicts itself, worst first; each a sentence that says which nodes, which labels and what to do. Takes time in
 * proportion to nodes and known labels, whatever else they carry.
 */
export function fabricProblems(nodes: readonly NodeFacts[]): readonly FabricProblem[] {
  const readings = readingsOf(nodes);
  return [
    ...uncountedNodes(nodes),
    ...domainsOverIslands(readings),
    ...producersOfDomainsDisagree(readings),
    ...switchProblems(readings),
    ...nicProblems(readings),
    ...unreadable(readings),
  ].slice(0, MAX_FABRIC_PROBLEMS);
}

/** NVLink reaches no farther than a rack or two, which hang on one fabric of NICs. */
function domainsOverIslands(readings: readonly NodeReading[]): readonly FabricProblem[] {
  const islands = namesOfIslands(readings);
  const seen = new Map<string, { readonly reading: NodeReading; readonly island: string }>();
  const problems = new Map<string, FabricProblem>();
  for (const [index, reading] of readings.entries()) {
    const island = islands[index] ?? '';
    if (reading.nvlinkDomain === undefined) continue;
    const { key, value } = reading.nvlinkDomain;
    const domain = `${key}=${value}`;
    const first = seen.get(domain);
    if (first === undefined) seen.set(domain, { reading, island });
    else if (first.island !== island && !problems.has(domain) && problems.size < MAX_FABRIC_PROBLEMS) {
      problems.set(domain, {
        kind: 'DomainOverIslands',
        nodes: [first.reading.node.name, reading.node.name],
        message: `NVLink domain ${domain} lies over islands ${first.island} (${first.reading.node.name}) and ${island} (${reading.node.name}). Correct the label of the domain or that of the island, or say nvlinkDomain or island of these nodes in the Fabric resource.`,
      });
    }
  }
  return [...problems.values()];
}

/** Two producers may name domains differently, and one may divide what the other joins; but neither may join what the other divides and divide what it joins. */
function producersOfDomainsDisagree(readings: readonly NodeReading[]): readonly FabricProblem[] {
  const used = NVLINK_DOMAIN_KEYS.filter((key) => readings.some(({ labelOf }) => labelOf(key) !== undefined));
  return used.flatMap((trusted, index) =>
    used.slice(index + 1).flatMap((other): readonly FabricProblem[] => {
      const crossing = crossingOf(
        readings,
        ({ labelOf }) => labelOf(trusted)?.value,
        ({ labelOf }) => labelOf(other)?.value,
      );
      if (crossing === undefined) return [];
      const { joined, divided } = crossing;
      return [
        {
          kind: 'ProducersDisagree',
          nodes: [...new Set([...joined, ...divided].map(({ node }) => node.name))],
          message: `${trusted} puts nodes ${listed(joined)} into one NVLink domain and ${listed(divided)} into two; ${other} says the opposite of both. ${trusted} is believed. Remove the label that is wrong, or say nvlinkDomain of these nodes in the Fabric resource.`,
        },
      ];
    }),
  );
}

const KNOWN_KEYS: readonly string[] = [...NVLINK_DOMAIN_KEYS, ...SWITCH_DIALECTS.flatMap(({ tiers }) => tiers.flat())];

/** Values that no label can have (they come from a file, or a DRA driver), and tiers beyond those that are read. */
function unreadable(readings: readonly NodeReading[]): readonly FabricProblem[] {
  const byKey = new Map<string, NodeReading[]>();
  for (const reading of readings) {
    for (const key of KNOWN_KEYS) {
      const value = reading.node.labels[key];
      if (value !== undefined && value !== '' && !isReadable(value))
        byKey.set(key, [...(byKey.get(key) ?? []).slice(0, 5), reading]);
    }
  }
  const beyond = readings.filter(({ labelOf }) => firstReported(labelOf, BEYOND) !== undefined);
  return [
    ...[...byKey].map(([key, affected]): FabricProblem => ({
      kind: 'Unreadable',
      nodes: affected.map(({ node }) => node.name).slice(0, 5),
      message: `Label ${key} of ${listed(affected)} is no value that a label can have (at most 63 letters, digits, "-", "_" and "."), so it is not read. Write another one.`,
    })),
    ...(beyond.length === 0
      ? []
      : [
          {
            kind: 'Unreadable',
            nodes: beyond.slice(0, 5).map(({ node }) => node.name),
            message: `Nodes ${listed(beyond)} tell more than ${MAX_TIERS} tiers of switches; those beyond tier ${MAX_TIERS - 1} are not read. Nothing is to be done unless switches of tiers 0 to ${MAX_TIERS - 1} share names.`,
          } as const,
        ]),
  ];
}

const BEYOND = [`fabric.topograph.run/tier-${MAX_TIERS}`, `fabric.coxswain.dev/tier-${MAX_TIERS}`];
