import type { Reading, StoredFile } from '../read/save-files.ts';
import type { SavedState, StoredItem } from '../read/saved-state.ts';
import type { Look } from './look.ts';

/** Looks at a folder of a save as at a save of its own: paths of files, requests and items get and lose its name. */
export function* lookWithin(
  folder: string,
  files: readonly StoredFile[],
  look: (files: readonly StoredFile[]) => Reading<Look>,
): Reading<Look> {
  const prefix = `${folder}/`;
  const below = files
    .filter(({ path }) => path.startsWith(prefix))
    .map((file) => ({ ...file, path: file.path.slice(prefix.length) }));
  const reading = look(below);
  let step = reading.next();
  while (step.done !== true) {
    const { path, ...place } = step.value;
    step = reading.next(yield { ...place, path: `${prefix}${path}` });
  }
  const { state, findings } = step.value;
  return {
    state: state && placedWithin(state, prefix),
    findings: findings.map((finding) => ({ ...finding, sentence: `In ${folder}: ${finding.sentence}` })),
  };
}

function placedWithin(state: SavedState, prefix: string): SavedState {
  const placed = (item: StoredItem | undefined): StoredItem | undefined =>
    item && { ...item, file: `${prefix}${item.file}` };
  return {
    ...state,
    tensors: state.tensors.map((tensor) => ({
      ...tensor,
      chunks: tensor.chunks.map((chunk) => ({ ...chunk, item: placed(chunk.item) })),
    })),
    objects: state.objects.map(({ key, item }) => ({ key, item: placed(item) })),
  };
}
