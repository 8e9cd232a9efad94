import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Copies the program at `executable` to `target`, which is either absent or complete at every moment. */
export async function install(executable: string, target: string): Promise<void> {
  const partial = `${target}.${process.pid}.partial`;
  await mkdir(dirname(target), { recursive: true });
  try {
    await copyFile(executable, partial);
    await chmod(partial, 0o755);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
