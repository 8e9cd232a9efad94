#!/bin/sh
# Starts the embedded PostgreSQL: in any image that has `initdb` and `postgres` on its PATH and a user of its own.
# PGDATA: where the data is. PASSWORD_FILE: the superuser's, letters and digits. HBA_FILE: who may connect. SOCKET_FOLDER: for who is in the pod.
set -eu

image_major=$(postgres --version | sed -E 's/^postgres \(PostgreSQL\) ([0-9]+).*/\1/')

if [ -s "$PGDATA/PG_VERSION" ]; then
  data_major=$(cat "$PGDATA/PG_VERSION")
  if [ "$data_major" != "$image_major" ]; then
    echo "The claim holds data of PostgreSQL $data_major and the image is PostgreSQL $image_major, which cannot read it. Set database.embedded.image.tag to $data_major;" \
      "to change the major version, dump the database, delete the claim, and restore (docs/tasks/install.md)." >&2
    exit 1
  fi
  # A volume that is given to a group lets the group in, which PostgreSQL refuses.
  chmod 700 "$PGDATA"
else
  # An empty folder goes; what lies in another one is somebody's, and the new database would end up within it.
  if [ -e "$PGDATA" ] && ! rmdir "$PGDATA" 2>/dev/null; then
    echo "$PGDATA holds files and no PG_VERSION, so it is no database that can be started. Nothing was touched: restore it, or move it away and a new one is made." >&2
    exit 1
  fi
  # Half a database is thrown away: its name says that it is whole.
  rm -rf "$PGDATA.new"
  initdb --pgdata "$PGDATA.new" --username postgres --encoding UTF8 --locale C.UTF-8 --auth scram-sha-256 --pwfile "$PASSWORD_FILE" --data-checksums
  echo 'CREATE DATABASE coxswain' | postgres --single -D "$PGDATA.new" -c exit_on_error=true postgres >/dev/null
  mv "$PGDATA.new" "$PGDATA"
fi

# The Secret says the password, also where it was made anew beside old data.
printf "ALTER ROLE postgres PASSWORD '%s'\n" "$(cat "$PASSWORD_FILE")" | postgres --single -D "$PGDATA" -c exit_on_error=true postgres >/dev/null

postgres -D "$PGDATA" -c hba_file="$HBA_FILE" -c unix_socket_directories="$SOCKET_FOLDER" -c "listen_addresses=${LISTEN_ADDRESSES:-*}" \
  -c "port=${PORT:-5432}" -c max_connections=200 -c log_min_messages=warning &
server=$!
# SIGTERM would wait for every client to leave; SIGINT ends them and writes what is owed.
trap 'kill -INT "$server"' TERM INT
code=0
wait "$server" || code=$?
# A signal ends the first wait, not the server.
while kill -0 "$server" 2>/dev/null; do wait "$server" && code=0 || code=$?; done
exit "$code"
