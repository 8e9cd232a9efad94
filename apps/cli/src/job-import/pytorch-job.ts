/** A PyTorchJob of Kubeflow's training operator (kubeflow.org/v1), or of SageMaker HyperPod: its master and its workers become one gang. */
import { alikePods } from './alike-pods.ts';
import { gangJob, type ImportOptions, type MadeJob } from './gang-job.ts';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import type { Source } from './source.ts';

/** The container that the training operator uses. */
const TRAINER = 'pytorch';

/** Converts a PyTorchJob. Throws an {@link ImportError} if Coxswain cannot run it. */
export function importPyTorchJob(document: Source, options: ImportOptions, report: ImportReport): MadeJob {
  const spec = document.at('spec');
  const replicas = replicasOf(spec);
  const [first, ...rest] = replicas;
  if (first === undefined)
    throw new ImportError(
      'spec.pytorchReplicaSpecs (or replicaSpecs) has neither Master nor Worker; add one of them with the program to run.',
    );
  const pod = alikePods([first.at('template'), ...rest.map((one) => one.at('template'))], TRAINER, report);
  const elastic = spec.at('elasticPolicy');
  const policy = spec.at('runPolicy');
  const limits = [policy.at('backoffLimit'), policy.at('jobMaxRetryCount'), elastic.at('maxRestarts')].filter(
    (limit) => limit.isThere,
  );
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
      deadlines: [policy.at('activeDeadlineSeconds')],
      classes: [policy.at('schedulingPolicy', 'priorityClass')],
    },
    options,
    report,
  );
}

/** Master before Worker, whatever the case of their names; those without pods are left out. HyperPod's operator has a list of them. */
function replicasOf(spec: Source): readonly Source[] {
  const listed = spec.at('replicaSpecs').items();
  const entries =
    listed.length > 0
      ? listed.map((replica) => [replica.at('name').text() ?? '', replica] as const)
      : spec.at('pytorchReplicaSpecs').entries();
  const strange = listed.length > 0 ? undefined : entries.find(([name]) => !/^(?:master|worker)$/i.test(name));
  if (strange !== undefined)
    throw new ImportError(`${strange[1].path} is none of the replicas that a PyTorchJob has: Master and Worker.`);
  const order = ([name]: readonly [string, Source]): number => (name.toLowerCase() === 'master' ? 0 : 1);
  return entries
    .toSorted((one, other) => order(one) - order(other))
    .map(([, replica]) => replica)
    .filter((replica) => replica.isThere && replica.at('replicas').count() !== 0);
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
