import { judgeMegatron, megatronCheckouts } from './engine-judges/megatron.ts';

export const description =
  'Engines judge what is rendered for them (MEGATRON_LM_CHECKOUT: directories of NVIDIA/Megatron-LM at a release, with colons between them; MEGATRON_LM_PYTHON; 2 min each; argument: a seed, 1).';

/** Resolves with true when engines take what is rendered, and refuse what is refused but for the holes that are listed. */
export async function run([seed = '1']: readonly string[]): Promise<boolean> {
  const checkouts = megatronCheckouts();
  if (checkouts.length === 0)
    throw new Error(
      'name a checkout of Megatron-LM in MEGATRON_LM_CHECKOUT: engines/judges/megatron/README.md says how',
    );
  let agree = true;
  for (const checkout of checkouts) agree = (await judgeMegatron(checkout, Number(seed))) && agree;
  return agree;
}
