/** Name of the file that completes a checkpoint for Coxswain: written last, by rename, after every file it lists is on disk. */
export const MANIFEST_FILE = 'manifest.json';
