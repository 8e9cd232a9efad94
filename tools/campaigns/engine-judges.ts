import { delimiter } from 'node:path';
import { judgeMegatronBridge } from './engine-judges/megatron-bridge.ts';
import { judgeMegatron, megatronCheckouts } from './engine-judges/megatron.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Engines check the options rendered for them (2 min each; argument: a seed, 1). MEGATRON_LM_CHECKOUT: directories of NVIDIA/Megatron-LM at a release, separated by colons; MEGATRON_LM_PYTHON. MEGATRON_BRIDGE_CHECKOUT: its directory, a colon, that of its Megatron-LM; MEGATRON_BRIDGE_PYTHON.';

/** A checkout of Megatron-LM or Megatron-Bridge, which nobody downloads here. */
export function requirements(): string | undefined {
  if (megatronCheckouts().length > 0 || bridgeCheckouts() !== undefined) return undefined;
  return 'name a checkout in MEGATRON_LM_CHECKOUT or MEGATRON_BRIDGE_CHECKOUT: the READMEs of engines/judges/megatron and megatron_bridge say how';
}

/** Resolves with true when engines take what is rendered, and refuse what is refused but for the holes that are listed. */
export async function run([seed = '1']: readonly string[]): Promise<boolean> {
  let agree = true;
  for (const checkout of megatronCheckouts()) agree = (await judgeMegatron(checkout, Number(seed))) && agree;
  const bridge = bridgeCheckouts();
  if (bridge !== undefined) agree = (await judgeMegatronBridge(bridge.bridge, bridge.megatron, Number(seed))) && agree;
  return agree;
}

/** The checkout of Megatron-Bridge, and that of its Megatron-LM. */
function bridgeCheckouts(): { bridge: string; megatron: string } | undefined {
  const [bridge, megatron] = (process.env['MEGATRON_BRIDGE_CHECKOUT'] ?? '').split(delimiter);
  return bridge === undefined || megatron === undefined ? undefined : { bridge, megatron };
}
