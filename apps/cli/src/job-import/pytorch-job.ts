/** A PyTorchJob of Kubeflow's training operator (kubeflow.org/v1): its master and its workers become one gang. */
import { gangJob, type ImportOptions } from './gang-job.ts';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import { podView, type PodView } from './pod.ts';
import { gpusOfPod } from './resources.ts';
import type { Source } from './source.ts';
import type { WrittenJob } from './written-job.ts';

/** The container that the training operator uses. */
const TRAINER = 'pytorch';

/** Converts a PyTorchJob. Throws an {@link ImportError} if Coxswain cannot run it. */
export function importPyTorchJob(document: Source, options: ImportOptions, report: ImportReport): WrittenJob {
  const spec = document.at('spec');
  const replicas = replicasOf(spec.at('pytorchReplicaSpecs'));
  const [first, second] = replicas;
  if (first === undefined)
    throw new ImportError(
      'spec.pytorchReplicaSpecs has neither Master nor Worker; add one of them with the program to run.',
    );
  const pod = podView(first.at('template', 'spec'), TRAINER);
  if (second !== undefined) joinPods(pod, { first, second }, report);
  const elastic = spec.at('elasticPolicy');
  const policy = spec.at('runPolicy');
  const limits = [policy.at('backoffLimit'), elastic.at('maxRestarts')].filter((limit) => limit.isThere);
  return gangJob(
    {
      metadata: document.at('metadata'),
      pod,
      nodes: replicas.reduce((sum, replica) => sum + (replica.at('replicas').count() ?? 1), 0),
      nodesFrom: replicas.map((replica) => replica.at('replicas')),
      processes: [spec.at('nprocPerNode'), elastic.at('nProcPerNode')],
      restarts: {
        isNever: restartsNever(replicas, limits.length > 0, report),
        limits,
      },
      suspend: policy.at('suspend'),
    },
    options,
    report,
  );
}

/** Master before Worker, whatever the case of their names; those without pods are left out. */
function replicasOf(specs: Source): readonly Source[] {
  const entries = specs.entries();
  const strange = entries.find(([name]) => !/^(?:master|worker)$/i.test(name));
  if (strange !== undefined)
    throw new ImportError(`${strange[1].path} is none of the replicas that a PyTorchJob has: Master and Worker.`);
  return ['master', 'worker']
    .flatMap((want) => entries.filter(([name]) => name.toLowerCase() === want).map(([, replica]) => replica))
    .filter((replica) => replica.isThere && replica.at('replicas').count() !== 0);
}

/** Pods of a gang are alike: what differs in what the second replica runs is refused, what else differs is left. */
function joinPods(
  pod: PodView,
  { first, second }: { readonly first: Source; readonly second: Source },
  report: ImportReport,
): void {
  const [one, other] = [first.at('template'), second.at('template')];
  if (sameText(one.value, other.value)) {
    report.changed(other, 'the pods of the gang', { why: `it is equal to ${one.path}` });
    return;
  }
  const pods = podView(other.at('spec'), TRAINER);
  for (const field of ['image', 'command', 'args'] as const) {
    if (!sameText(pod[field].value, pods[field].value))
      throw new ImportError(
        `${fieldPath(pods[field], other)} differs from that of ${one.path}; the pods of a gang run one program of one image. Make them equal, or let the program decide by RANK.`,
      );
  }
  if (gpusOfPod(pod.resources) !== gpusOfPod(pods.resources))
    throw new ImportError(
      `${fieldPath(pods.resources, other)} asks for other GPUs than ${one.path}; every pod of a gang has as many. Make them alike.`,
    );
  report.left(other, {
    why: `the pods of a gang are alike, and it differs from ${one.path} in more than program and GPUs`,
    todo: `check that nothing that only ${other.path} has is needed`,
  });
}

function fieldPath(field: Source, template: Source): string {
  return field.isThere ? field.path : template.path;
}

/** Whether both would be written alike; keys count in their order, as a file that was written twice has them. */
function sameText(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function restartsNever(replicas: readonly Source[], isLimited: boolean, report: ImportReport): boolean {
  const policies = replicas.map((replica) => replica.at('restartPolicy'));
  const isNever = policies.length > 0 && policies.every((policy) => policy.text() === 'Never');
  for (const policy of policies) {
    const field = 'restartPolicy.maxRestarts';
    if (isNever) report.changed(policy, `${field} 0`, { why: 'a job that is never restarted has no restarts' });
    else if (policy.text() === 'ExitCode')
      report.changed(policy, field, {
        why: 'exit code 93 ends a job at once, and every other one but 0 restarts the gang as long as restarts are left',
        todo: 'let the program end with 93 where a restart would fail the same way',
      });
    else
      report.changed(policy, field, {
        why: `the gang is restarted as a whole${isLimited ? '' : ', 3 times where no limit is given'}; lost nodes are not counted`,
      });
  }
  return isNever;
}
