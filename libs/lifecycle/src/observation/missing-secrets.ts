/** Does a pod wait for a Secret that its job names? Nobody here may read Secrets: kubelets say so of variables, and of files nothing. */
import type { Facts } from './facts.ts';
import type { ObservedPod } from './observed.ts';

/** A kubelet's words for a variable that it cannot make; our local nodes say the same. */
const NO_SECRET = /^secret "(?<secret>[^"]+)" not found/;
const NO_KEY = /^couldn't find key (?<key>\S+) in Secret (?:\S+\/)?(?<secret>[^\s/]+)/;
/** More than these would say little more. */
const SHOWN_FILES = 3;

/** The end of a sentence that names variable, key and Secret; undefined where the container waits for something else. */
export function missingSecret(
  { spec, job }: Facts,
  waiting: NonNullable<ObservedPod['containerWaiting']>,
): string | undefined {
  if (waiting.reason !== 'CreateContainerConfigError') return undefined;
  const said = (NO_SECRET.exec(waiting.message) ?? NO_KEY.exec(waiting.message))?.groups;
  if (said === undefined) return undefined;
  const variable = (spec?.engine.secretEnv ?? []).find(
    ({ secret, key, optional }) => !optional && secret === said['secret'] && (said['key'] ?? key) === key,
  );
  if (variable === undefined) return undefined;
  const { name, secret, key } = variable;
  const missing =
    said['key'] === undefined ? `namespace ${job.metadata.namespace} has no such Secret` : 'there is no such key in it';
  return `variable ${name} is key ${key} of Secret ${secret}, and ${missing}`;
}

/** The keys without which a kubelet mounts nothing, and so starts nothing: `key token of Secret job-hf`. undefined: there are none. */
export function awaitedFiles({ spec }: Facts): string | undefined {
  const files = (spec?.engine.secretFiles ?? []).filter(({ optional }) => !optional);
  if (files.length === 0) return undefined;
  const shown = files.slice(0, SHOWN_FILES).map(({ secret, key }) => `key ${key} of Secret ${secret}`);
  const more = files.length > SHOWN_FILES ? ` and ${files.length - SHOWN_FILES} more` : '';
  return `${shown.join(', ')}${more}`;
}
