/** For programs that use a bucket and read no checkpoint: the readers of formats take 80 MB of memory and a second to load. */
export { openStore } from './open-store.ts';
export { signReadUrl } from './s3/sign-read-url.ts';
