import { delimiter } from 'node:path';
import { judgeMegatronBridge } from './engine-judges/megatron-bridge.ts';
import { judgeMegatron, megatronCheckouts } from './engine-judges/megatron.ts';

export const description =
  'Engines check the options rendered for them (2 min each; argument: a seed, 1). MEGATRON_LM_CHECKOUT: directories of NVIDIA/Megatron-LM at a release, separated by colons; MEGATRON_LM_PYTHON. MEGATRON_BRIDGE_CHECKOUT: its directory, a colon, that of its Megatron-LM; MEGATRON_BRIDGE_PYTHON.';

/** Resolves with true when engines take what is rendered, and refuse what is refused but for the holes that are listed. */
export async function run([seed = '1']: readonly string[]): Promise<boolean> {
  const checkouts = megatronCheckouts();
  const [bridge, itsMegatron] = (process.env['MEGATRON_BRIDGE_CHECKOUT'] ?? '').split(delimiter);
  const hasBridge = bridge !== undefined && itsMegatron !== undefined;
  if (checkouts.length === 0 && !hasBridge)
    throw new Error(
      'name a checkout in MEGATRON_LM_CHECKOUT or MEGATRON_BRIDGE_CHECKOUT: the READMEs of engines/judges/megatron and megatron_bridge say how',
    );
  let agree = true;
  for (const checkout of checkouts) agree = (await judgeMegatron(checkout, Number(seed))) && agree;
  if (hasBridge) agree = (await judgeMegatronBridge(bridge, itsMegatron, Number(seed))) && agree;
  return agree;
}
