/** Where do the ranks of a pod store temporary files and caches? */
import { POD_PATHS, type ScratchSpec } from '@coxswain/api-types';
import { createHash } from 'node:crypto';

const VOLUME = 'coxswain-scratch';

/** Room for it: a directory of the node, or a claim. */
export function scratchOf(scratch: ScratchSpec | undefined): {
  readonly volumes: readonly Readonly<Record<string, unknown>>[];
  readonly mounts: readonly Readonly<Record<string, unknown>>[];
} {
  if (scratch === undefined) return { volumes: [], mounts: [] };
  const { claimName, sizeLimit } = scratch;
  const source =
    claimName === undefined
      ? { emptyDir: sizeLimit === undefined ? {} : { sizeLimit } }
      : { persistentVolumeClaim: { claimName } };
  return { volumes: [{ name: VOLUME, ...source }], mounts: [{ name: VOLUME, mountPath: POD_PATHS.scratch }] };
}

/**
 * Variables by which compilers and Hugging Face find their caches. Compiled code belongs to one image. A claim outlives the job, so each image has a
 * directory of its own there. Its name is the image's digest, or a digest of the image's name. Downloaded weights belong to no image. Sources: Triton
 * (`triton/knobs.py`), PyTorch (`torch/_inductor/runtime/cache_dir_utils.py`, `torch/utils/cpp_extension.py`), huggingface_hub (environment
 * variables), CUDA (programming guide, environment variables).
 */
export function cachesOf(scratch: ScratchSpec | undefined, image: string): Readonly<Record<string, string>> {
  if (scratch === undefined) return {};
  const root = [POD_PATHS.scratch, scratch.path ?? '', 'cache'].filter((part) => part !== '').join('/');
  const ofImage = scratch.claimName === undefined ? root : `${root}/${keyOf(image)}`;
  return {
    XDG_CACHE_HOME: ofImage,
    TRITON_CACHE_DIR: `${ofImage}/triton`,
    TORCHINDUCTOR_CACHE_DIR: `${ofImage}/inductor`,
    TORCH_EXTENSIONS_DIR: `${ofImage}/torch_extensions`,
    CUDA_CACHE_PATH: `${ofImage}/cuda`,
    HF_HOME: `${root}/huggingface`,
  };
}

const KEY_LENGTH = 16;

function keyOf(image: string): string {
  const digest = /@sha256:([0-9a-f]{64})$/.exec(image)?.[1];
  return (digest ?? createHash('sha256').update(image).digest('hex')).slice(0, KEY_LENGTH);
}
