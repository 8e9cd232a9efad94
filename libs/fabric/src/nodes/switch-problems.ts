import { SWITCH_DIALECTS, type SwitchDialect } from './dialects.ts';
import { crossingOf } from './divisions.ts';
import type { NodeReading } from './node-reading.ts';
import { type FabricProblem, listed } from './problem.ts';
import { firstReported, type ReportedValue } from './reported-labels.ts';

/** The most problems of one kind and dialect: a few are enough if all labels are wrong. */
const MOST_OF_A_KIND = 4;

/** Problems of switch labels: circles, switches with two parents, and producers that disagree. */
export function switchProblems(readings: readonly NodeReading[]): readonly FabricProblem[] {
  const used = SWITCH_DIALECTS.map((dialect) => ({ dialect, uplinks: uplinksOf(dialect, readings) })).filter(
    ({ dialect }) => readings.some(({ labelOf }) => nearest(dialect, labelOf) !== undefined),
  );
  return [
    ...used.flatMap(({ dialect, uplinks }) => {
      const circle = circleIn(dialect, uplinks);
      return circle === undefined ? twoParents(uplinks) : [circleProblem(dialect, circle)];
    }),
    ...producersDisagree(
      used.map(({ dialect }) => dialect),
      readings,
    ),
  ];
}

/** That a node says of two switches: the nearer hangs below the farther. */
interface Uplink {
  readonly lower: ReportedValue;
  readonly upper: ReportedValue;
  readonly reading: NodeReading;
}

/** Each pair of switches once, by the first node that says it. */
function uplinksOf(dialect: SwitchDialect, readings: readonly NodeReading[]): readonly Uplink[] {
  const uplinks = new Map<string, Uplink>();
  for (const reading of readings) {
    const reported = dialect.tiers
      .map((keys) => firstReported(reading.labelOf, keys))
      .filter((value) => value !== undefined);
    for (const [index, lower] of reported.entries()) {
      const upper = reported[index + 1];
      if (upper === undefined) break;
      const pair = `${spelled(lower)} ${spelled(upper)}`;
      if (!uplinks.has(pair)) uplinks.set(pair, { lower, upper, reading });
    }
  }
  return [...uplinks.values()];
}

/** Uplinks that are left when whatever hangs below nothing, and then whatever nothing hangs below, is taken away; undefined where that is all. */
function circleIn({ names }: SwitchDialect, uplinks: readonly Uplink[]): readonly Uplink[] | undefined {
  if (names !== 'ofSwitches') return undefined;
  const hanging = peeled(
    uplinks.filter(({ lower, upper }) => lower.value !== upper.value),
    ({ upper }) => upper.value,
    ({ lower }) => lower.value,
  );
  const circle = peeled(
    hanging,
    ({ lower }) => lower.value,
    ({ upper }) => upper.value,
  );
  return circle.length === 0 ? undefined : circle;
}

/** What is left when links whose `head` is no other link's `tail` are taken away, again and again. Takes time in proportion to the links. */
function peeled(
  links: readonly Uplink[],
  head: (link: Uplink) => string,
  tail: (link: Uplink) => string,
): readonly Uplink[] {
  const byHead = Map.groupBy(links, head);
  const tails = new Map<string, number>();
  for (const link of links) tails.set(tail(link), (tails.get(tail(link)) ?? 0) + 1);
  const gone = new Set<string>();
  const ready = [...byHead.keys()].filter((name) => !tails.has(name));
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    gone.add(name);
    for (const link of byHead.get(name) ?? []) {
      const left = (tails.get(tail(link)) ?? 0) - 1;
      tails.set(tail(link), left);
      if (left === 0) ready.push(tail(link));
    }
  }
  return links.filter((link) => !gone.has(head(link)));
}

function circleProblem({ producer }: SwitchDialect, circle: readonly Uplink[]): FabricProblem {
  const shown = circle.slice(0, MOST_OF_A_KIND);
  const links = shown.map(({ lower, upper, reading }) => `${lower.value} below ${upper.value} by ${reading.node.name}`);
  return {
    kind: 'CircleOfSwitches',
    nodes: [...new Set(shown.map(({ reading }) => reading.node.name))],
    message: `Labels of ${producer} put switches in a circle: ${links.join(', ')}. Each switch counts by the whole way down to it, so nodes seem farther apart than they are. Correct ${shown[0]?.lower.key ?? ''} and ${shown[0]?.upper.key ?? ''} of these nodes.`,
  };
}

function twoParents(uplinks: readonly Uplink[]): readonly FabricProblem[] {
  const first = new Map<string, Uplink>();
  const problems = new Map<string, FabricProblem>();
  for (const uplink of uplinks) {
    const lower = spelled(uplink.lower);
    const seen = first.get(lower);
    if (seen === undefined) first.set(lower, uplink);
    else if (seen.upper.key === uplink.upper.key && !problems.has(lower) && problems.size < MOST_OF_A_KIND) {
      problems.set(lower, {
        kind: 'SwitchOfTwoParents',
        nodes: [seen.reading.node.name, uplink.reading.node.name],
        message: `Switch ${lower} is below ${spelled(seen.upper)} by ${seen.reading.node.name} and below ${spelled(uplink.upper)} by ${uplink.reading.node.name}. It counts as two switches. Correct ${uplink.upper.key} of these nodes, or give the switches two names.`,
      });
    }
  }
  return [...problems.values()];
}

function producersDisagree(used: readonly SwitchDialect[], readings: readonly NodeReading[]): readonly FabricProblem[] {
  return used.flatMap((trusted, index) =>
    used.slice(index + 1).flatMap((other): readonly FabricProblem[] => {
      const crossing = crossingOf(
        readings,
        ({ labelOf }) => nearest(trusted, labelOf),
        ({ labelOf }) => nearest(other, labelOf),
      );
      if (crossing === undefined) return [];
      const { joined, divided } = crossing;
      return [
        {
          kind: 'ProducersDisagree',
          nodes: [...new Set([...joined, ...divided].map(({ node }) => node.name))],
          message: `Labels of ${trusted.producer} put nodes ${listed(joined)} below one switch and ${listed(divided)} below two; those of ${other.producer} say the opposite of both. ${trusted.producer} is believed. Remove the labels that are wrong, or say switches of these nodes in the Fabric resource.`,
        },
      ];
    }),
  );
}

function nearest({ tiers }: SwitchDialect, labelOf: NodeReading['labelOf']): string | undefined {
  const reported = firstReported(labelOf, tiers[0] ?? []);
  return reported?.value;
}

function spelled({ key, value }: ReportedValue): string {
  return `${key}=${value}`;
}
