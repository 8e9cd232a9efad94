/** Pods of a gang are alike: several templates of one file become one. */
import { ImportError } from './import-error.ts';
import { tokensOf } from './imported-engine.ts';
import type { ImportReport } from './import-report.ts';
import { podView, type PodView } from './pod.ts';
import { rankProgram } from './program.ts';
import { gpusOfPod } from './resources.ts';
import type { Source } from './source.ts';

/** The pod of all templates, by the first. Throws an {@link ImportError} if a second one runs another program, another image or other GPUs. */
export function alikePods(
  [first, ...others]: readonly [Source, ...Source[]],
  trainer: string,
  report: ImportReport,
): PodView {
  const pod = podView(first.at('spec'), trainer, first);
  for (const other of others) joinPod(pod, { first, other, trainer }, report);
  return pod;
}

function joinPod(
  pod: PodView,
  { first, other, trainer }: { readonly first: Source; readonly other: Source; readonly trainer: string },
  report: ImportReport,
): void {
  if (sameText(withoutNames(first.value), withoutNames(other.value))) {
    report.changed(other, 'the pods of the gang', { why: `it is equal to ${first.path}` });
    return;
  }
  const pods = podView(other.at('spec'), trainer, other);
  if (!sameText(pod.image.value, pods.image.value))
    throw differs(pods.image, other, first, 'the pods of a gang run one program of one image');
  if (!sameProgram(pod, pods)) {
    const field = sameText(pod.command.value, pods.command.value) ? pods.args : pods.command;
    throw differs(field, other, first, 'the pods of a gang run one program of one image');
  }
  if (gpusOfPod(pod.resources) !== gpusOfPod(pods.resources))
    throw new ImportError(
      `${fieldPath(pods.resources, other)} asks for other GPUs than ${first.path}; every pod of a gang has as many. Make them alike.`,
    );
  report.left(other, {
    why: `the pods of a gang are alike, and it differs from ${first.path} in more than program and GPUs`,
    todo: `check that nothing that only ${other.path} has is needed`,
  });
}

function differs(field: Source, other: Source, first: Source, rule: string): ImportError {
  return new ImportError(
    `${fieldPath(field, other)} differs from that of ${first.path}; ${rule}. Make them equal, or let the program decide by RANK.`,
  );
}

/** Launchers differ in the rank of their node alone; what they start has to be the same. */
function sameProgram(one: PodView, other: PodView): boolean {
  if (sameText(one.command.value, other.command.value) && sameText(one.args.value, other.args.value)) return true;
  const [words, more] = [one, other].map(({ command, args }) =>
    [...command.items(), ...args.items()].map((word) => word.textOrNumber() ?? ''),
  );
  const known = one.env.flatMap((variable) => {
    const [name, value] = [variable.at('name').text(), variable.at('value').text()];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
  const variables = new Map(known.map(({ name, value }) => [name, value]));
  const ranks = [words ?? [], more ?? []].map((all) => rankProgram(all, one.command.path, variables));
  const [first = [], second = []] = ranks.map(({ words: rank }) => tokensOf(rank, known));
  return ranks.every(({ launcher }) => launcher !== undefined) && sameText(first, second);
}

/** Names of containers, and labels, tell the templates apart for their own system alone. */
function withoutNames(template: unknown): unknown {
  if (typeof template !== 'object' || template === null) return template;
  const { metadata: _metadata, spec } = template as { metadata?: unknown; spec?: unknown };
  if (typeof spec !== 'object' || spec === null) return template;
  const { containers } = spec as { containers?: unknown };
  if (!Array.isArray(containers) || containers.length !== 1) return { spec };
  return { spec: { ...spec, containers: [{ ...(containers[0] as object), name: '' }] } };
}

function fieldPath(field: Source, template: Source): string {
  return field.isThere ? field.path : template.path;
}

/** Whether both would be written alike; keys count in their order, as a file that was written twice has them. */
function sameText(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
