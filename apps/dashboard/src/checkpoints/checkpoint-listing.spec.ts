import { type CheckpointListing, checkpointQueryOf } from './checkpoint-listing.ts';

it.each<[sentence: string, listing: Partial<CheckpointListing>, want: ReturnType<typeof checkpointQueryOf>]>([
  ['all of them', {}, {}],
  ['those of a job', { job: 'tiny-gpt' }, { job: 'tiny-gpt' }],
  ['those with a verdict', { verdict: 'damaged' }, { verdict: 'damaged' }],
  ['those that nothing is held against', { verdict: 'good', job: 'a' }, { good: true, job: 'a' }],
])('asks for %s', (_sentence, listing, want) => {
  expect(checkpointQueryOf({ job: '', verdict: '', ...listing })).toEqual(want);
});
