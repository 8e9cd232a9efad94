import type { CheckpointStore } from './checkpoint-store.ts';
import { DirectoryStore } from './directory/directory-store.ts';
import type { S3Options } from './s3/s3-options.ts';
import { parseLocation } from './store-location.ts';

/**
 * The store at `location`: a directory, or `s3://bucket/prefix`. Nothing is read yet.
 * @throws StoreError if it is neither.
 */
export async function openStore(location: string, options: S3Options): Promise<CheckpointStore> {
  const place = parseLocation(location);
  if (place.kind === 'directory') return new DirectoryStore(place.path);
  // Takes longer to load than everything else of a command together.
  const { S3Store } = await import('./s3/s3-store.ts');
  return new S3Store(place, options);
}
