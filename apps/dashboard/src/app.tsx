import { lazy, Suspense, type ReactNode } from 'react';
import { Link, Route, Switch } from 'wouter';
import { CheckpointPage } from './pages/checkpoint-page.tsx';
import { CheckpointsPage } from './pages/checkpoints-page.tsx';
import { FabricPage } from './pages/fabric-page.tsx';
import { JobPage } from './pages/job-page.tsx';
import { JobsPage } from './pages/jobs-page.tsx';
import { PlansPage } from './pages/plans-page.tsx';
import { QueuePage } from './pages/queue-page.tsx';
import { SignInPage } from './pages/sign-in-page.tsx';
import { projectsOf } from './projects-of.ts';
import { useSessionState } from './session.tsx';

/** Loaded when it is opened: it brings a YAML parser and the models that the planner knows. */
const NewJobPage = lazy(async () => ({ default: (await import('./pages/new-job-page.tsx')).NewJobPage }));

export function App(): ReactNode {
  const { session, busy } = useSessionState();
  if (busy) return <p className="waiting">Signing in…</p>;
  if (session === undefined) return <SignInPage />;
  return (
    <>
      <header className="bar">
        <Link href="/" className="brand">
          <img src="/favicon.svg" alt="" width="24" height="24" /> Coxswain
        </Link>
        <nav className="pages">
          <Link href="/">Jobs</Link>
          <Link href="/queue">Queue</Link>
          <Link href={`/projects/${projectsOf(session.me)[0] ?? '-'}/checkpoints`}>Checkpoints</Link>
          <Link href="/predictions">Predictions</Link>
          {session.me.role === 'clusterAdmin' && <Link href="/fabric">Fabric</Link>}
        </nav>
        <span className="who">
          {session.me.name} · {session.me.role}
          <button type="button" className="quiet" onClick={session.signOut}>
            Sign out
          </button>
        </span>
      </header>
      <main>
        <Switch>
          <Route path="/">
            <JobsPage />
          </Route>
          <Route path="/jobs/new">
            <Suspense fallback={<p className="waiting">Opening…</p>}>
              <NewJobPage />
            </Suspense>
          </Route>
          <Route path="/queue">
            <QueuePage />
          </Route>
          <Route path="/predictions">
            <PlansPage />
          </Route>
          <Route path="/fabric">
            <FabricPage />
          </Route>
          <Route path="/projects/:project/checkpoints">
            {({ project }) => <CheckpointsPage key={project} project={project} />}
          </Route>
          <Route path="/projects/:project/checkpoints/:uid">
            {({ project, uid }) => <CheckpointPage key={uid} project={project} uid={uid} />}
          </Route>
          <Route path="/projects/:project/jobs/:id">
            {({ project, id }) => <JobPage key={id} project={project} id={id} />}
          </Route>
          <Route>
            <p className="empty">
              There is nothing at this address. <Link href="/">All jobs</Link>
            </p>
          </Route>
        </Switch>
      </main>
    </>
  );
}
