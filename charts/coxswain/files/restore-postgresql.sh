#!/bin/sh
# Puts a dump of FOLDER back as the database: BACKUP, or the newest one. What was there stays beside it under another name. The server is where PGHOST, PGPORT, PGUSER
# and PGPASSWORD say. Roles are in no dump: the Job that prepares the database makes them.
set -eu

database=${DATABASE:-coxswain}
ask() { psql --no-password --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 --dbname postgres --command "$1"; }

cd "$FOLDER"
name=${BACKUP:-$(ls -1 coxswain-*.dump 2>/dev/null | sort -r | head -n 1)}
if [ -z "$name" ] || [ ! -f "$name" ]; then
  echo "There is no backup ${name:-named coxswain-TIME.dump} in $FOLDER. Those there are: $(ls -1 coxswain-*.dump 2>/dev/null | tr '\n' ' ')" >&2
  exit 1
fi

# An API that works on the database would write into one that goes away.
clients=$(ask "SELECT count(*) FROM pg_stat_activity WHERE datname = '$database' AND backend_type = 'client backend'")
if [ "$clients" != 0 ]; then
  echo "$clients connections use the database $database. Stop the API first: kubectl -n NAMESPACE scale deployment/coxswain-api --replicas=0" >&2
  exit 1
fi

before=${database}_before_$(date -u +%Y%m%d%H%M%S)
echo "restoring $name; what is there now stays as the database $before"
ask "ALTER DATABASE \"$database\" RENAME TO \"$before\""
if ! pg_restore --no-password --create --exit-on-error --dbname postgres "$name"; then
  ask "DROP DATABASE IF EXISTS \"$database\" WITH (FORCE)"
  ask "ALTER DATABASE \"$before\" RENAME TO \"$database\""
  echo "$name was not restored; the database is the one that was there before" >&2
  exit 1
fi
echo "restored $name"
