/** Which variables does the program get, and from where? */
import { plainSecrets, type TrainingJobSpecInput } from '@coxswain/api-types';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import type { Source } from './source.ts';

type EngineInput = TrainingJobSpecInput['engine'];
type SecretVariable = NonNullable<EngineInput['secretEnv']>[number];
type SecretFile = NonNullable<EngineInput['secretFiles']>[number];

/** Variables of the imported program: plain values, and keys of Secrets. */
export interface Variables {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly secretEnv: readonly SecretVariable[];
}

const SECRET_PREFIX = 'job-';
/** Variables that the launcher sets for each rank, or that only torchrun reads. */
const RENDEZVOUS =
  /^(?:RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|NODE_RANK|MASTER_ADDR|MASTER_PORT|NNODES|NPROC_PER_NODE|CUDA_VISIBLE_DEVICES|PET_\w+)$/;
/** Variables that the launcher sets in each pod, by the field that they replace. */
const FIELDS: Readonly<Record<string, string>> = {
  'metadata.name': 'COXSWAIN_POD_NAME',
  'metadata.namespace': 'COXSWAIN_NAMESPACE',
  'metadata.uid': 'COXSWAIN_POD_UID',
  'spec.nodeName': 'COXSWAIN_NODE_NAME',
  'status.podIP': 'COXSWAIN_POD_IP',
};

/** Whether Coxswain sets this variable for each rank, so that a value of the user would be wrong or without effect. */
export function isRendezvous(name: string): boolean {
  return RENDEZVOUS.test(name);
}

/** The variables of a container; of two with one name the later counts, as for Kubernetes. `jobName` names the Secret that plain credentials go to. */
export function readVariables(items: readonly Source[], jobName: string, report: ImportReport): Variables {
  const last = new Map(items.map((item) => [nameOf(item), item]));
  const [env, secretEnv]: [{ name: string; value: string }[], SecretVariable[]] = [[], []];
  for (const item of items) {
    const name = nameOf(item);
    if (last.get(name) !== item) {
      report.left(item, { why: `a later ${name} replaces it` });
      continue;
    }
    const read = readVariable(name, item, { jobName, report });
    if (read !== undefined && 'value' in read) env.push(read);
    if (read !== undefined && 'secret' in read) secretEnv.push(read);
  }
  return { env, secretEnv };
}

function nameOf(item: Source): string {
  const name = item.at('name').text();
  if (name === undefined) throw new ImportError(`${item.path} has no name; every variable needs one.`);
  return name;
}

interface Context {
  readonly jobName: string;
  readonly report: ImportReport;
}

function readVariable(
  name: string,
  item: Source,
  { jobName, report }: Context,
): { name: string; value: string } | SecretVariable | undefined {
  if (isRendezvous(name)) {
    report.left(item, { why: `Coxswain sets ${name} for each rank, from its own layout` });
    return undefined;
  }
  if (name.startsWith('COXSWAIN_')) {
    report.left(item, { why: `${name}: names that start with COXSWAIN_ are written by the operator` });
    return undefined;
  }
  const from = item.at('valueFrom');
  if (from.isThere) return readReference(name, { item, from }, report);
  const value = item.at('value').text() ?? '';
  if (plainSecrets({ env: [{ name, value }] }).length === 0) {
    if (/\$\([A-Za-z_]\w*\)/.test(value))
      report.changed(item, `engine.env ${name}`, {
        why: 'Kubernetes replaces $(NAME) in values, and Coxswain passes them as they stand',
        todo: 'write out what it stands for',
      });
    else report.taken(item, `engine.env ${name}`);
    return { name, value };
  }
  const secret = secretNameOf(jobName);
  const key = name.toLowerCase().replaceAll('_', '-');
  report.changed(item, `engine.secretEnv ${name}`, {
    why: 'it looks like a credential, and everyone who may read the job could read it; the written file does not contain its value',
    todo: `kubectl create secret generic ${secret} --from-file=${key}=FILE_WITH_THE_VALUE, for all of them at once, and withdraw this credential if others could read the old file`,
  });
  return { name, secret, key };
}

function readReference(
  name: string,
  { item, from }: { readonly item: Source; readonly from: Source },
  report: ImportReport,
): SecretVariable | undefined {
  const secretRef = from.at('secretKeyRef');
  const field = from.at('fieldRef', 'fieldPath');
  if (!secretRef.isThere) {
    const ours = FIELDS[field.text() ?? ''];
    report.left(item, {
      why: `${name}: a variable of a job comes from the job or from a Secret`,
      todo: ours === undefined ? `write the value into engine.env ${name}` : `let the program read ${ours}`,
    });
    return undefined;
  }
  const secret = secretRef.at('name').text() ?? '';
  const key = secretRef.at('key').text() ?? '';
  const optional = secretRef.at('optional').flag();
  reportSecret(item, { secret, to: `engine.secretEnv ${name}` }, report);
  return { name, secret: secretNameOf(secret), key, ...(optional === undefined ? {} : { optional }) };
}

/** Files of a Secret that is mounted, and where each was and is. A volume without `items` names no keys: then there are none. */
export function secretFilesOf(
  volume: Source,
  report: ImportReport,
): readonly (SecretFile & { readonly path: string })[] {
  const secret = volume.at('secret', 'secretName').text() ?? '';
  const items = volume.at('secret', 'items').items();
  const optional = volume.at('secret', 'optional').flag();
  if (items.length === 0) {
    report.left(volume, {
      why: 'a job names each key of a Secret, and this volume names none',
      todo: `name them in engine.secretFiles; Secrets of jobs begin with "${SECRET_PREFIX}" (${copyOf(secret)})`,
    });
    return [];
  }
  reportSecret(volume, { secret, to: 'engine.secretFiles' }, report);
  return items.map((item) => {
    const key = item.at('key').text() ?? '';
    const path = item.at('path').text() ?? key;
    return { secret: secretNameOf(secret), key, path, ...(optional === undefined ? {} : { optional }) };
  });
}

function reportSecret(
  from: Source,
  { secret, to }: { readonly secret: string; readonly to: string },
  report: ImportReport,
): void {
  if (secret.startsWith(SECRET_PREFIX)) return report.taken(from, to);
  report.changed(from, to, {
    why: `jobs use only Secrets whose names begin with "${SECRET_PREFIX}"`,
    todo: copyOf(secret),
  });
}

function copyOf(secret: string): string {
  return `make a copy: kubectl get secret ${secret} -o json | jq '{apiVersion, kind, type, data, metadata: {name: "${secretNameOf(secret)}"}}' | kubectl apply -f -`;
}

/** `hf` → `job-hf`, at most 63 characters. */
function secretNameOf(name: string): string {
  const short = name.startsWith(SECRET_PREFIX) ? name : `${SECRET_PREFIX}${name}`;
  return short.slice(0, 63).replace(/[^a-z0-9]+$/, '');
}
