/** What cannot be derived from a layout: sizes measured on running jobs. */

const GIB = 2 ** 30;

/**
 * Memory outside PyTorch's allocator: CUDA context, NCCL and cuBLAS. Typical of one process on one GPU with a few communicators.
 */
export const DEVICE_CONTEXT_BYTES = 1.5 * GIB;

/** What the caching allocator reserves beyond its allocated peak, as a share of that peak. */
export const ALLOCATOR_SLACK_SHARE = 0.04;

/** How far the prediction may be off: inside this share of the capacity the verdict is 'tight'. */
export const VERDICT_MARGIN_SHARE = 0.08;
