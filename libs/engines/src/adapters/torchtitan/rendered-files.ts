import type { RenderedEngine } from '../../rendering.ts';

/** What differs between releases. */
export type RenderedFiles = Pick<RenderedEngine, 'command' | 'files'>;
