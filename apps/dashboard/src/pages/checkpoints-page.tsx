import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import {
  checkpointListingOf,
  checkpointQueryOf,
  VERDICT_CHOICES,
  type CheckpointListing,
} from '../checkpoints/checkpoint-listing.ts';
import { CheckpointTable } from '../components/checkpoint-table.tsx';
import { VerdictLegend } from '../components/verdict-pill.tsx';
import { projectsOf } from '../projects-of.ts';
import { useSession } from '../session.tsx';
import { useFieldValues } from '../use-field-values.ts';

const REFRESH_MS = 15_000;
const PAGE_SIZE = 50;

/** What the jobs of a project saved, the newest first. */
export function CheckpointsPage({ project }: { readonly project: string }): ReactNode {
  const { api } = useSession();
  const [address, setAddress] = useSearchParams();
  const listing = useMemo(() => checkpointListingOf(address), [address]);
  const [pageToken, setPageToken] = useState<string>();
  const { data, error, isPending } = useQuery({
    queryKey: ['checkpoints', project, listing, pageToken],
    queryFn: () => api.projectCheckpoints(project, { ...checkpointQueryOf(listing), pageSize: PAGE_SIZE, pageToken }),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  const isFiltered = listing.job + listing.verdict !== '';
  return (
    <>
      <title>Checkpoints · Coxswain</title>
      <div className="title">
        <h1>Checkpoints{project === '-' ? '' : ` of ${project}`}</h1>
        <ProjectChoice project={project} />
        <CheckpointFilter
          listing={listing}
          onChange={(next) => {
            setAddress(Object.entries(next).filter(([, value]) => value !== '') as [string, string][], {
              replace: true,
            });
            setPageToken(undefined);
          }}
        />
      </div>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {isPending && <p className="waiting">Reading checkpoints…</p>}
      {data?.items.length === 0 && (
        <p className="empty">
          {isFiltered ? 'No checkpoint matches the filters.' : 'No job has saved a checkpoint yet.'}
        </p>
      )}
      {data !== undefined && data.items.length > 0 && (
        <div className="panel scroll">
          <CheckpointTable project={project} checkpoints={data.items} withJobs />
          <VerdictLegend />
        </div>
      )}
      <p className="more">
        {pageToken !== undefined && (
          <button type="button" onClick={() => setPageToken(undefined)}>
            Newest
          </button>
        )}
        {data?.nextPageToken !== undefined && (
          <button type="button" onClick={() => setPageToken(data.nextPageToken)}>
            Older
          </button>
        )}
      </p>
    </>
  );
}

function ProjectChoice({ project }: { readonly project: string }): ReactNode {
  const { me } = useSession();
  const [, go] = useLocation();
  const projects = projectsOf(me);
  if (projects.length < 2) return null;
  return (
    <label>
      <span className="hint">Project</span>
      <select value={project} onChange={(event) => go(`/projects/${event.target.value}/checkpoints`)}>
        {projects.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function CheckpointFilter(props: {
  readonly listing: CheckpointListing;
  readonly onChange: (listing: CheckpointListing) => void;
}): ReactNode {
  const { listing, onChange } = props;
  const form = useRef<HTMLFormElement>(null);
  useFieldValues(form, listing);
  return (
    <form
      ref={form}
      className="actions"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(checkpointListingOf(new FormData(event.currentTarget)));
      }}
    >
      <input name="job" type="search" aria-label="Name of the job" placeholder="Job" maxLength={256} />
      <label>
        <span className="hint">Verdict</span>
        <select name="verdict" onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          {VERDICT_CHOICES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Find</button>
    </form>
  );
}
