import { JOB_STATES } from '@coxswain/api-types';
import { type ReactNode, useRef } from 'react';
import { useFieldValues } from '../use-field-values.ts';
import { type JobListing, listingOf } from './job-listing.ts';

interface JobFilterProps {
  readonly listing: JobListing;
  readonly onChange: (listing: JobListing) => void;
}

/** Which jobs are shown: what was typed is asked for at Enter or on leaving a field, so that no half of a selector is. */
export function JobFilter({ listing, onChange }: JobFilterProps): ReactNode {
  const form = useRef<HTMLFormElement>(null);
  useFieldValues(form, listing);
  return (
    <form
      ref={form}
      className="actions"
      role="search"
      onBlur={(event) => onChange(listingOf(new FormData(event.currentTarget)))}
      onSubmit={(event) => {
        event.preventDefault();
        onChange(listingOf(new FormData(event.currentTarget)));
      }}
    >
      <input name="search" type="search" aria-label="Words of the name" placeholder="Name" maxLength={256} />
      <input name="labels" type="search" aria-label="Labels" placeholder="Labels: team=vision" maxLength={1024} />
      <input name="owner" type="search" aria-label="Owner" placeholder="Owner" maxLength={256} />
      <label>
        <span className="hint">State</span>
        <select name="state" onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          <option value="">all</option>
          {JOB_STATES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        <span className="hint">Sort</span>
        <select name="orderBy" onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          <option value="createdAt">newest</option>
          <option value="name">name</option>
          <option value="finishedAt">ended last</option>
        </select>
      </label>
      <button type="submit">Find</button>
    </form>
  );
}
