/** The fields of the configuration of each release, read from its own classes (engines/judges/megatron_bridge). */
import written3 from './fields-v0.3.1.generated.json' with { type: 'json' };
import written5 from './fields-v0.5.1.generated.json' with { type: 'json' };

/** Which class makes the model. */
export type Provider = 'gpt' | 'latent' | 'hybrid';

/** A field of the configuration. */
export interface Field {
  /** Values that it takes; none where any of its type is. */
  readonly choices: readonly string[];
  /** Of a field of `model`: the providers that have it so. */
  readonly providers: readonly Provider[];
}

/** A release and the fields of its configuration. */
export interface BridgeRelease {
  /** As its repository tags it. */
  readonly tag: string;
  /** Release of Megatron-LM whose options are those of the commit that it pins (3rdparty/Megatron-LM). */
  readonly core: string;
  /** By section and name, `model.num_layers`; several where providers have it in different ways. */
  readonly fields: ReadonlyMap<string, readonly Field[]>;
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

function readRelease(
  core: string,
  written: { readonly release: string; readonly fields: Readonly<Record<string, string>> },
): BridgeRelease {
  const fields = Object.entries(written.fields).map(([path, text]) => [path, text.split(', ').map(readField)] as const);
  return { tag: written.release, core, fields: new Map(fields) };
}

const NEWEST = readRelease('core_v0.18.2', written5); // pins 458c8d0, the last commit before that tag
/** The newest first. */
export const BRIDGE_RELEASES: readonly BridgeRelease[] = [NEWEST, readRelease('core_v0.16.1', written3)];

/** The release that a job names, or the newest where it names none; jobs name no other (`ENGINE_RELEASES`). */
export function bridgeRelease(name: string | undefined): BridgeRelease {
  return BRIDGE_RELEASES.find(({ tag }) => tag === name) ?? NEWEST;
}
