import type { RenderedEngine } from '../../rendering.ts';

/** What differs between releases. */
export type Told = Pick<RenderedEngine, 'command' | 'files'>;
