/** Formulas of the time model that probes of a cluster measure one by one. */
import type { GpuFacts, Precision } from '../facts.ts';
import type { TimeConstants } from '../time/constants.ts';
import { gemmS, kernelFacts } from '../time/kernels.ts';
import { collectiveS, handOverS } from '../time/links.ts';

/** Seconds of one product [m, k] x [k, n] of a linear layer. */
function productS(
  gpu: GpuFacts,
  precision: Precision,
  size: { readonly m: number; readonly n: number; readonly k: number },
  constants: TimeConstants,
): number {
  return gemmS(kernelFacts(gpu, precision, constants), size, true);
}

/** Formulas by name. */
export const probeFormulas = { productS, collectiveS, handOverS };
