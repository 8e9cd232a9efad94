/**
 * Gives every property of a run the same seed, so that a tree that passed passes again; `npm run campaign -- properties` looks where no run has
 * looked. Vitest reads this file before each test file.
 */
import fc from 'fast-check';
import { PROPERTY_SEED_VARIABLE, propertySeed } from './which-seed.ts';

fc.configureGlobal({ seed: propertySeed(process.env[PROPERTY_SEED_VARIABLE]) });
