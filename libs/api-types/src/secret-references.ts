/** Which Secrets does a job use, and where does it find their keys? Values stand nowhere: the kubelet alone reads them. */
import { z } from 'zod';
import { cel } from './cel.ts';
import { EnvName, ObjectName } from './field-names.ts';
import { POD_PATHS } from './names.ts';

/** A job may not reference other Secrets of its namespace, such as service account tokens, pull secrets and certificates. */
export const SECRET_PREFIX = 'job-';
const MAX_VARIABLES = 100;
const MAX_FILES = 32;

const PREFIX_SENTENCE = `must begin with "${SECRET_PREFIX}": a job can use no other Secret of its namespace; make one of such a name that holds the key`;
/** Name of a Secret that a job may use. */
export const SecretName = ObjectName.refine((name) => name.startsWith(SECRET_PREFIX), PREFIX_SENTENCE)
  .meta(cel({ rule: `self.startsWith('${SECRET_PREFIX}')`, message: PREFIX_SENTENCE }))
  .describe(`Secret in the namespace of the job; its name begins with "${SECRET_PREFIX}".`);
const SecretKey = z
  .string()
  .max(253)
  .regex(
    /^\.?[-_A-Za-z0-9][-._A-Za-z0-9]*$/,
    'must be a key of a Secret: letters, digits, "-", "_" and ".", and not ".." at its start',
  )
  .describe('Key inside the Secret.');
const IsOptional = z
  .boolean()
  .default(false)
  .describe('true: pods start without it where the Secret or the key is missing. false: they wait for it.');

const SecretVariable = z.strictObject({
  name: EnvName.describe('Name of the variable.'),
  secret: SecretName,
  key: SecretKey,
  optional: IsOptional,
});
const SecretFile = z.strictObject({ secret: SecretName, key: SecretKey, optional: IsOptional });
/** A key of a Secret as a variable of every rank. */
export type SecretVariable = z.infer<typeof SecretVariable>;
/** A key of a Secret as a file of every rank. */
export type SecretFile = z.infer<typeof SecretFile>;

/** Environment variables from Secrets; each name once. */
export const SecretVariables = z
  .array(SecretVariable)
  .max(MAX_VARIABLES)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
  .refine(
    isEachOnce<SecretVariable>(({ name }) => name),
    'names a variable twice; each has one value',
  )
  .describe('Variables whose values are keys of Secrets.');
/** Files from Secrets; each key once. */
export const SecretFiles = z
  .array(SecretFile)
  .max(MAX_FILES)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['secret', 'key'] })
  .refine(isEachOnce<SecretFile>(placeOf), 'names a key twice; leave one out')
  .describe(
    `Keys of Secrets as files that can only be read: ${POD_PATHS.secrets}/SECRET/KEY. A changed Secret changes the file, which a variable does not.`,
  );

function isEachOnce<T>(nameOf: (item: T) => string): (items: readonly T[]) => boolean {
  return (items) => new Set(items.map(nameOf)).size === items.length;
}

/** `job-hf/token`: how a reference is shown, and where its file lies below the directory of Secrets. */
export function placeOf({ secret, key }: { readonly secret: string; readonly key: string }): string {
  return `${secret}/${key}`;
}

interface UsesSecrets {
  readonly secretEnv?: readonly SecretVariable[] | undefined;
  readonly secretFiles?: readonly SecretFile[] | undefined;
}

/** What a job uses of Secrets, for people: the variable or the file, and `secret job-hf/token`. */
export function describeSecrets(engine: UsesSecrets): readonly { readonly as: string; readonly from: string }[] {
  const from = (one: SecretFile): string => `secret ${placeOf(one)}${one.optional ? ', if there is one' : ''}`;
  return [
    ...(engine.secretEnv ?? []).map((one) => ({ as: one.name, from: from(one) })),
    ...(engine.secretFiles ?? []).map((one) => ({ as: `${POD_PATHS.secrets}/${placeOf(one)}`, from: from(one) })),
  ];
}
