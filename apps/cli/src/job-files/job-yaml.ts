import { API_GROUP_VERSION, POD_PATHS } from '@coxswain/api-types';
import { Document, isMap, isScalar, type Node, type Pair } from 'yaml';
import type { WrittenJob } from '../job-import/written-job.ts';
import { yamlText } from '../output/output.ts';

/** What each field is for, by its path in the manifest. Of maps and lists it stands above, of single values behind. */
const COMMENTS: Readonly<Record<string, string>> = {
  'metadata.name': 'of the job, in its namespace',
  'metadata.namespace': 'one of the project',
  'metadata.labels': 'What it is found by: coxswain jobs -l KEY=VALUE',
  'spec.engine.name': 'reference: the GPT of Coxswain; command: any program',
  'spec.engine.image': 'container image of every pod',
  'spec.engine.command':
    'One rank. Started once per GPU, with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT',
  'spec.engine.env': 'Variables of every rank; everyone who may read the job can read them',
  'spec.engine.secretEnv': 'Variables from Secrets of the job’s namespace; their names begin with "job-"',
  'spec.engine.secretFiles': `Keys of Secrets as files: ${POD_PATHS.secrets}/SECRET/KEY`,
  'spec.model': 'Sizes of the model',
  'spec.model.sequenceLength': 'tokens per sample',
  'spec.training.steps': 'after them the job is complete',
  'spec.training.globalBatchSize': 'samples per step, over all GPUs',
  'spec.training.precision': 'bf16 on GPUs, fp32 on the processes of a local cluster',
  'spec.data': `Claim that every pod reads at ${POD_PATHS.data}`,
  'spec.data.claimName': 'PersistentVolumeClaim in the namespace of the job',
  'spec.data.path': 'file or directory inside the claim',
  'spec.gpus': 'the planner chooses how they are divided',
  'spec.layout': 'How the ranks are divided; the product of the degrees is the number of GPUs',
  'spec.layout.tensorParallelDegree': 'ways each layer is split, within an NVLink domain',
  'spec.layout.pipelineParallelDegree': 'groups of layers, each on ranks of its own',
  'spec.layout.contextParallelDegree': 'ways the tokens of a sample are split',
  'spec.layout.dataParallelDegree': 'ranks that each take a share of the batch',
  'spec.resources': 'What a pod gets: so much for each of its GPUs',
  'spec.resources.gpusPerNode': 'GPUs, and ranks, of one pod',
  'spec.checkpoint': `Claim that is saved to, at ${POD_PATHS.checkpoints}; every node can mount it`,
  'spec.checkpoint.claimName': 'PersistentVolumeClaim in the namespace of the job',
  'spec.checkpoint.path': 'directory inside the claim',
  'spec.checkpoint.everySteps': 'steps between two saves',
  'spec.restartPolicy.maxRestarts': 'failures after which the gang starts again; lost nodes are not counted',
  'spec.terminationGracePeriodSeconds': 'time to save before it is killed',
  'spec.suspend': 'true: it is held until coxswain resume',
};

/** The TrainingJob manifest of a job, with comments; `head` stands above it. `coxswain submit` and `kubectl apply` take it. */
export function jobYaml({ name, namespace, labels, spec }: WrittenJob, head: string): string {
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
  };
  const document = new Document({ apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', metadata, spec });
  document.commentBefore = head
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n');
  addComments(document.contents, '');
  return yamlText(document, { lineWidth: 0 });
}

function addComments(node: Node | null, path: string): void {
  if (!isMap(node)) return;
  for (const { key, value } of node.items as Pair<Node, Node | null>[]) {
    const here = `${path === '' ? '' : `${path}.`}${isScalar(key) ? String(key.value) : ''}`;
    const comment = Object.hasOwn(COMMENTS, here) ? COMMENTS[here] : undefined;
    if (comment !== undefined && isScalar(value)) value.comment = ` ${comment}`;
    else if (comment !== undefined) key.commentBefore = ` ${comment}`;
    addComments(value, here);
  }
}
