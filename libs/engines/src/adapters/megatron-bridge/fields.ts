/** Which fields does the configuration of a release have? Read from its own classes (engines/judges/megatron_bridge). */
import written from './fields-v0.3.1.generated.json' with { type: 'json' };

/** Which class makes the model. */
export type Provider = 'gpt' | 'latent' | 'hybrid';

export interface Field {
  /** Values that it takes; none where any of its type is. */
  readonly choices: readonly string[];
  /** Of a field of `model`: the providers that have it so. */
  readonly providers: readonly Provider[];
}

const PLAIN = ['bool', 'int', 'float', 'str', 'other'];
const PROVIDERS: readonly Provider[] = ['gpt', 'latent', 'hybrid'];

function readField(text: string): Field {
  const [written = '', ...having] = text.split(' ');
  const kind = written.replace(/\?$/, '');
  return {
    choices: PLAIN.includes(kind) ? [] : kind.split('|'),
    providers: having.length === 0 ? PROVIDERS : PROVIDERS.filter((one) => having.includes(one)),
  };
}

/** The release, as its repository tags it. */
export const RELEASE = written.release;
/** By section and name, `model.num_layers`; several where providers have it in different ways. */
export const FIELDS: ReadonlyMap<string, readonly Field[]> = new Map(
  Object.entries(written.fields).map(([path, text]) => [path, text.split(', ').map(readField)]),
);
