/** Which files does a directory hold that no manifest lists? */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileListSha256, type StoredFile } from '@coxswain/checkpoint';
import { DirectoryStore } from '@coxswain/checkpoint-store';

/** Files of a save of 16,384 ranks with three files each are 50,000. */
const MAX_FILES = 200_000;
const MAX_DEPTH = 16;

/** All files below a directory; links are listed and not followed. Rejects if there are more than {@link MAX_FILES}. */
export async function filesBelow(directory: string, onAnswer: () => void): Promise<readonly StoredFile[]> {
  const paths: string[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (folder.split('/').length > MAX_DEPTH) throw new Error(`${directory} has folders more than ${MAX_DEPTH} deep`);
    for (const entry of await readdir(join(directory, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(path);
      else paths.push(path);
      if (paths.length > MAX_FILES)
        throw new Error(`${directory} has more than ${MAX_FILES} files; name the directory of one checkpoint`);
    }
    onAnswer();
  }
  return await new DirectoryStore(directory).find(paths, onAnswer);
}

/** {@link fileListSha256} of what is below a directory. */
export async function fileListOf(directory: string, onAnswer: () => void = () => undefined): Promise<string> {
  return fileListSha256(await filesBelow(directory, onAnswer), createHash('sha256'));
}
